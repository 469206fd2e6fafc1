//! The largest traces, with as few repetitions as possible.

use traces::{
    EnabledChange, Execution, Module, Object, ObjectKind, ObjectLocation, Operation, Site, Step,
    TaskId, TaskRecord, Trace,
};

/// Numbers without a pattern, the same each time (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The worst case for the size of a trace: `tasks` tasks that switch at random between `sorts`
/// different steps, the enabled set changing at every second step on average, and a value of up to
/// `value_bits` bits at every tenth.
pub(crate) fn worst(steps: u64, tasks: u16, sorts: u64, value_bits: u32) -> Trace {
    let mut numbers = Numbers(1);
    let kinds = Operation::ALL.len() as u64;
    let mut execution = Execution {
        tasks: vec![TaskRecord::default(); usize::from(tasks)],
        modules: vec![Module { path: "/usr/bin/program".into(), build_id: "ab".repeat(20) }; 3],
        ..Default::default()
    };
    for number in 0..50 {
        let place = ObjectLocation::Other(number);
        let name = format!("object {number}");
        execution.objects.push(Object { kind: ObjectKind::Memory, place, name });
    }
    let sort: Vec<(Operation, Option<u32>, Site)> = (0..sorts)
        .map(|_| {
            let operation = Operation::ALL[numbers.below(kinds) as usize];
            let site = Site { module: numbers.below(3) as u16, offset: numbers.below(1 << 22) };
            (operation, Some(numbers.below(50) as u32), site)
        })
        .collect();
    let mut able = vec![false; usize::from(tasks)];
    for at in 0..steps {
        if numbers.below(2) == 0 {
            let task = numbers.below(u64::from(tasks)) as u16;
            let enabled = &mut able[usize::from(task)];
            *enabled = !*enabled;
            let change = EnabledChange { step: at, task: TaskId(task), enabled: *enabled };
            execution.enabled.push(change);
        }
        let (operation, object, site) = sort[numbers.below(sorts) as usize];
        let value = if numbers.below(10) == 0 { numbers.next() >> (64 - value_bits) } else { 0 };
        let task = TaskId(numbers.below(u64::from(tasks)) as u16);
        execution.steps.push(Step { task, operation, object, site, value });
    }
    Trace { execution, ..Default::default() }
}

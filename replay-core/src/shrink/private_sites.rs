//! Sites at which a preemption is pointless, because only one task uses their objects.

use std::collections::{BTreeMap, BTreeSet};
use traces::points::CodeRange;
use traces::{Execution, Site, TaskId};

/// Sites whose operations, in this execution, were all on objects that only one task used. A
/// preemption there is equivalent to one before the task's next operation at another site. In other
/// executions the objects may be shared, so leaving these sites out proves nothing.
pub(super) fn private_sites(execution: &Execution) -> Vec<CodeRange> {
    let done = execution.steps.iter().map(|step| (step.task, step.object, step.site));
    // A task's pending operation at the end would have been its next step.
    let ends = (0..).zip(&execution.tasks).filter_map(|(task, record)| {
        record.pending.map(|pending| (TaskId(task), pending.object, pending.site))
    });
    let all: Vec<(TaskId, Option<u32>, Site)> = done.chain(ends).collect();
    let mut users: BTreeMap<u32, BTreeSet<TaskId>> = BTreeMap::new();
    for &(task, object, _) in &all {
        if let Some(object) = object {
            users.entry(object).or_default().insert(task);
        }
    }
    let mut sites: BTreeMap<Site, bool> = BTreeMap::new();
    for &(_, object, site) in &all {
        let own = object.is_some_and(|object| users[&object].len() == 1);
        *sites.entry(site).or_insert(true) &= own;
    }
    let stretch = |site: Site| {
        let module = match site.module {
            // The dynamic loader has no name for the main program.
            0 => String::new(),
            number => execution.modules.get(usize::from(number))?.path.clone(),
        };
        // The site of a call is the return address.
        Some(CodeRange { module, start: site.offset.saturating_sub(1), end: site.offset + 1 })
    };
    sites.into_iter().filter(|&(_, quiet)| quiet).filter_map(|(site, _)| stretch(site)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Module, Operation, Step};

    #[test]
    fn a_site_is_private_if_one_task_uses_its_objects() {
        let step = |task: u16, object: Option<u32>, offset: u64| Step {
            task: TaskId(task),
            operation: Operation::Lock,
            object,
            site: Site { module: 0, offset },
            value: 0,
        };
        let steps = vec![
            step(0, Some(0), 10), // own
            step(0, Some(1), 20), // shared with the next
            step(1, Some(1), 30),
            step(1, Some(2), 40), // own, and in another turn the shared one
            step(1, Some(1), 40),
            step(1, None, 50), // of no object
        ];
        let modules = vec![Module { path: "program".into(), build_id: String::new() }];
        let execution = Execution { steps, modules, ..Execution::default() };
        let places: Vec<u64> =
            private_sites(&execution).iter().map(|stretch| stretch.end - 1).collect();
        assert_eq!(places, [10]);
    }
}

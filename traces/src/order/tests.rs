//! Compares the clocks with the transitive closure of the definition, and with small examples.

use super::*;
use crate::{Object, Site};
use proptest::prelude::*;

const TASKS: u16 = 4;
const MUTEXES: [u32; 2] = [4, 5];
const CONDITION: u32 = 6;
const WORD: u32 = 7;

/// Objects 0 to 3 are the tasks; then two mutexes, a condition and a word.
fn objects() -> Vec<Object> {
    let tasks = (0..TASKS).map(|task| (ObjectKind::Task, ObjectLocation::Task(TaskId(task))));
    let others = [ObjectKind::Mutex, ObjectKind::Mutex, ObjectKind::Condition, ObjectKind::Memory];
    tasks
        .chain(others.into_iter().zip((0..).map(ObjectLocation::Other)))
        .map(|(kind, place)| Object { kind, place, name: "o".into() })
        .collect()
}

fn execution(steps: impl IntoIterator<Item = (u16, Operation, Option<u32>, u64)>) -> Execution {
    let site = Site { module: 0, offset: 0 };
    let steps = steps.into_iter().map(|(task, operation, object, value)| Step {
        task: TaskId(task),
        operation,
        object,
        site,
        value,
    });
    Execution { objects: objects(), steps: steps.collect(), ..Default::default() }
}

/// The mutexes that a task holds before a step, computed from the start each time.
fn mutexes_before(steps: &[Step], at: usize) -> Vec<u32> {
    let depth = |mutex| {
        steps[..at]
            .iter()
            .filter(|s| s.task == steps[at].task && s.object == Some(mutex) && s.value == 0)
            .fold(0u32, |depth, step| match step.operation {
                Operation::Lock | Operation::TryLock | Operation::TimedLock => depth + 1,
                Operation::Unlock => depth.saturating_sub(1),
                _ => depth,
            })
    };
    MUTEXES.into_iter().filter(|&mutex| depth(mutex) > 0).collect()
}

fn accesses(steps: &[Step], at: usize) -> Vec<(u32, bool)> {
    let mut found: Vec<_> =
        steps[at].object.iter().map(|&o| (o, steps[at].operation.is_write())).collect();
    if steps[at].operation == Operation::Wait || steps[at].operation.is_condition_wake() {
        found.extend(mutexes_before(steps, at).into_iter().map(|mutex| (mutex, true)));
    }
    found
}

fn directly_before(steps: &[Step], i: usize, j: usize) -> bool {
    let first_of_its_task = !steps[..j].iter().any(|step| step.task == steps[j].task);
    // If a task was created twice, which happens in no program, the last creation counts.
    let creates = |step: &Step, task: TaskId| {
        step.operation == Operation::Create && step.object == Some(u32::from(task.0))
    };
    let created = first_of_its_task
        && steps[..j].iter().rposition(|step| creates(step, steps[j].task)) == Some(i);
    let joined = steps[j].operation == Operation::Join
        && steps[j].value == 0
        && steps[j].object == Some(u32::from(steps[i].task.0));
    let conflict = accesses(steps, i)
        .iter()
        .any(|a| accesses(steps, j).iter().any(|b| a.0 == b.0 && (a.1 || b.1)));
    i < j && (steps[i].task == steps[j].task || created || joined || conflict)
}

fn closure(steps: &[Step]) -> Vec<Vec<bool>> {
    let n = steps.len();
    let mut before: Vec<Vec<bool>> =
        (0..n).map(|i| (0..n).map(|j| directly_before(steps, i, j)).collect()).collect();
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                before[i][j] |= before[i][k] && before[k][j];
            }
        }
    }
    before
}

fn any_step() -> impl Strategy<Value = (u16, Operation, Option<u32>, u64)> {
    use Operation::*;
    let on_task = prop::sample::select(vec![Create, Join, Detach, Start]);
    let on_mutex = prop::sample::select(vec![Lock, TryLock, TimedLock, Unlock]);
    let on_condition =
        prop::sample::select(vec![Wait, Wake, TimedWake, SpuriousWake, Signal, Broadcast]);
    let on_word = prop::sample::select(vec![Read, Read, Read, Write, Update]);
    let what = prop_oneof![
        (on_task, (0..u32::from(TASKS)).prop_map(Some)),
        (on_mutex, prop::sample::select(MUTEXES.map(Some).to_vec())),
        (on_condition, Just(Some(CONDITION))),
        (on_word, Just(Some(WORD))),
        (prop::sample::select(vec![Start, Yield, Sleep, Exit]), Just(None)),
    ];
    (0..TASKS, what, prop_oneof![4 => Just(0), 1 => Just(16)])
        .prop_map(|(task, (operation, object), value)| (task, operation, object, value))
}

proptest! {
    #[test]
    fn clocks_are_the_closure_and_a_strict_order(
        steps in prop::collection::vec(any_step(), 0..24)
    ) {
        let execution = execution(steps);
        let clocks = Clocks::of(&execution);
        let expected = closure(&execution.steps);
        for (i, row) in expected.iter().enumerate() {
            prop_assert!(!clocks.before(i, i) && !clocks.concurrent(i, i));
            for (j, &before) in row.iter().enumerate() {
                prop_assert_eq!(clocks.before(i, j), before, "{} before {}", i, j);
                prop_assert!(!before || i < j);
                let concurrent = i != j && !before && !expected[j][i];
                prop_assert_eq!(clocks.concurrent(i, j), concurrent);
                for k in 0..row.len() {
                    let through = clocks.before(i, j) && clocks.before(j, k);
                    prop_assert!(!through || clocks.before(i, k));
                }
            }
        }
    }
}

#[test]
fn small_examples_have_the_expected_order() {
    use Operation::*;
    type Steps = Vec<(u16, Operation, Option<u32>, u64)>;
    let [m, n] = MUTEXES.map(Some);
    let (c, w) = (Some(CONDITION), Some(WORD));
    // A description, the steps, two of them, and whether the first happens before the second.
    let cases: Vec<(&str, Steps, usize, usize, bool)> = vec![
        ("two tasks", vec![(0, Yield, None, 0), (1, Yield, None, 0)], 0, 1, false),
        ("created", vec![(0, Create, Some(1), 0), (1, Start, None, 0)], 0, 1, true),
        (
            "after creating",
            vec![(0, Create, Some(1), 0), (0, Yield, None, 0), (1, Start, None, 0)],
            1,
            2,
            false,
        ),
        ("joined", vec![(1, Yield, None, 0), (0, Join, Some(1), 0)], 0, 1, true),
        ("not joined", vec![(1, Yield, None, 0), (0, Join, Some(1), 3)], 0, 1, false),
        ("unlock, lock", vec![(1, Unlock, m, 0), (0, Lock, m, 0)], 0, 1, true),
        ("other mutex", vec![(1, Unlock, m, 0), (0, Lock, n, 0)], 0, 1, false),
        ("reads", vec![(1, Read, w, 0), (0, Read, w, 0)], 0, 1, false),
        ("write, read", vec![(1, Write, w, 0), (0, Read, w, 0)], 0, 1, true),
        ("read, write", vec![(1, Read, w, 0), (0, Write, w, 0)], 0, 1, true),
        (
            "wait releases the mutex",
            vec![(1, Lock, m, 0), (1, Yield, None, 0), (1, Wait, c, 0), (0, Lock, m, 0)],
            1,
            3,
            true,
        ),
        (
            "wake locks the mutex again",
            vec![(1, Lock, m, 0), (1, Wait, c, 0), (0, Unlock, m, 0), (1, Wake, c, 0)],
            2,
            3,
            true,
        ),
        (
            "wait passes on the clock of the condition",
            vec![(2, Lock, n, 0), (0, Signal, c, 0), (2, Wait, c, 0), (1, Lock, n, 0)],
            1,
            3,
            true,
        ),
    ];
    for (what, steps, i, j, expected) in cases {
        let clocks = Clocks::of(&execution(steps));
        assert_eq!(clocks.before(i, j), expected, "{what}");
        assert_eq!(clocks.concurrent(i, j), !expected, "{what}");
    }
}

#[test]
fn an_execution_without_steps_has_no_order() {
    assert_eq!(Clocks::of(&Execution::default()).steps, []);
}

#[test]
fn held_since_is_the_step_of_the_last_acquisition() {
    use Operation as O;
    let (lock, other, condition) = (Some(MUTEXES[0]), Some(MUTEXES[1]), Some(CONDITION));
    let since = |steps: &[(Operation, Option<u32>, u64)]| {
        let mine = steps.iter().map(|&(operation, object, value)| (0, operation, object, value));
        held_since(&execution(mine), TaskId(0), MUTEXES[0])
    };
    assert_eq!(since(&[(O::Lock, lock, 0), (O::Lock, other, 0)]), Some(0));
    assert_eq!(since(&[(O::Lock, lock, 0), (O::Lock, lock, 0), (O::Unlock, lock, 0)]), Some(0));
    assert_eq!(since(&[(O::Lock, lock, 0), (O::Unlock, lock, 0), (O::Lock, lock, 0)]), Some(2));
    assert_eq!(since(&[(O::Lock, lock, 0), (O::Unlock, lock, 0)]), None);
    assert_eq!(since(&[(O::TryLock, lock, 16)]), None);
    // A wait releases the mutex temporarily.
    let waited = [(O::Lock, lock, 0), (O::Wait, condition, 0), (O::Wake, condition, 0)];
    assert_eq!(since(&waited), Some(2));
    let both = [&[(O::Lock, other, 0)], &waited[..]].concat();
    assert_eq!(since(&both), Some(1), "which mutex the wait was with is not known");
}

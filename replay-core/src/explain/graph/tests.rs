//! Compares the graph with the order that it reduces.

use super::*;
use proptest::prelude::*;
use traces::{Object, ObjectKind, ObjectLocation, Operation, Site, Step, TaskId};

const TASKS: u16 = 3;

/// Objects 0 to 2 are the tasks, then a mutex, a condition variable and a word.
fn objects() -> Vec<Object> {
    let tasks = (0..TASKS).map(|task| (ObjectKind::Task, ObjectLocation::Task(TaskId(task))));
    let others = [ObjectKind::Mutex, ObjectKind::Condition, ObjectKind::Memory];
    tasks
        .chain(others.into_iter().zip((0..).map(ObjectLocation::Other)))
        .map(|(kind, place)| Object { kind, place, name: "o".into() })
        .collect()
}

fn execution(steps: &[(u16, Operation, Option<u32>)]) -> Execution {
    let steps = steps.iter().map(|&(task, operation, object)| Step {
        task: TaskId(task),
        operation,
        object,
        site: Site { module: 0, offset: 0 },
        value: 0,
    });
    Execution { objects: objects(), steps: steps.collect(), ..Default::default() }
}

/// Whether a path leads from each step to each other step, optionally ignoring one edge.
fn reach(graph: &HappensBefore, without: Option<(usize, usize)>) -> Vec<Vec<bool>> {
    let n = graph.len();
    let mut reached = vec![vec![false; n]; n];
    // Edges only lead forwards, so process the last steps first.
    for from in (0..n).rev() {
        for link in graph.effects(from) {
            if without == Some((from, link.step)) {
                continue;
            }
            reached[from][link.step] = true;
            let beyond = reached[link.step].clone();
            reached[from].iter_mut().zip(beyond).for_each(|(mine, theirs)| *mine |= theirs);
        }
    }
    reached
}

fn steps() -> impl Strategy<Value = Vec<(u16, Operation, Option<u32>)>> {
    let one = prop_oneof![
        (0..3u32).prop_map(|task| (Operation::Create, Some(task))),
        (0..3u32).prop_map(|task| (Operation::Join, Some(task))),
        Just((Operation::Lock, Some(3))),
        Just((Operation::Unlock, Some(3))),
        Just((Operation::Wait, Some(4))),
        Just((Operation::Wake, Some(4))),
        Just((Operation::Read, Some(5))),
        Just((Operation::Write, Some(5))),
        Just((Operation::Yield, None)),
    ];
    prop::collection::vec((0..TASKS, one).prop_map(|(task, (op, on))| (task, op, on)), 0..24)
}

proptest! {
    #[test]
    fn paths_are_the_order_and_no_edge_is_without_need(steps in steps()) {
        let execution = execution(&steps);
        let graph = HappensBefore::of(&execution);
        let clocks = Clocks::of(&execution);
        let reached = reach(&graph, None);
        for i in 0..graph.len() {
            for (j, &reached) in reached[i].iter().enumerate() {
                prop_assert_eq!(reached, clocks.before(i, j), "{} to {}", i, j);
            }
            for link in graph.effects(i) {
                let less = reach(&graph, Some((i, link.step)));
                prop_assert!(!less[i][link.step], "the edge from {} to {}", i, link.step);
                let back = graph.causes(link.step).contains(&Link { step: i, ..link });
                prop_assert!(back, "the edge from {} to {}, backwards", i, link.step);
            }
        }
    }
}

#[test]
fn an_edge_says_why() {
    use Operation::{Create, Join, Lock, Read, Start, Unlock, Write};
    let graph = HappensBefore::of(&execution(&[
        (0, Create, Some(1)), // 0
        (0, Lock, Some(3)),   // 1
        (1, Start, None),     // 2
        (0, Unlock, Some(3)), // 3
        (1, Lock, Some(3)),   // 4
        (1, Read, Some(5)),   // 5
        (0, Write, Some(5)),  // 6
        (0, Join, Some(1)),   // 7
    ]));
    let link = |step, cause| Link { step, cause };
    assert_eq!(graph.causes(2), [link(0, Cause::Creation)]);
    assert_eq!(graph.causes(4), [link(2, Cause::Program), link(3, Cause::Object(3))]);
    assert_eq!(graph.causes(6), [link(5, Cause::Object(5))], "the unlock is the cause of the read");
    assert_eq!(graph.causes(7), [link(6, Cause::Program)], "the task's last step came before");
    assert_eq!(graph.effects(0), [link(1, Cause::Program), link(2, Cause::Creation)]);
    assert_eq!(graph.relation(1, 2), Relation::Concurrent);
    assert_eq!(graph.relation(0, 7), Relation::Before);
    assert_eq!(graph.relation(7, 0), Relation::After);
    assert_eq!(graph.relation(3, 3), Relation::Same);
}

proptest! {
    #[test]
    fn a_cone_contains_the_steps_where_tasks_synchronise(steps in steps(), at in 0..24_usize) {
        let execution = execution(&steps);
        let graph = HappensBefore::of(&execution);
        prop_assume!(at < graph.len());
        let cone = graph.cone(&execution, at, usize::MAX, usize::MAX);
        prop_assert!(cone.is_sorted() && cone.contains(&at));
        let related = |step: usize| graph.relation(step, at) != Relation::Concurrent;
        let task = |step: usize| execution.steps[step].task;
        for step in 0..graph.len() {
            // On the same side of the step, an edge from or to another task.
            let beside = |link: Link| {
                task(link.step) != task(step)
                    && related(link.step)
                    && ((step <= at && link.step <= at) || (step >= at && link.step >= at))
            };
            let hears = graph.causes(step).into_iter().chain(graph.effects(step)).any(beside);
            let wanted = step == at || related(step) && hears;
            prop_assert_eq!(cone.contains(&step), wanted, "{} in {:?}", step, cone);
        }
        let near = graph.cone(&execution, at, 1, 2);
        prop_assert!(near.iter().all(|step| cone.contains(step)) && near.len() <= 4);
    }
}

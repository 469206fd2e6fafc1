//! Search for a schedule that satisfies a predicate (`--when`): tasks that are at a site of the
//! predicate are held there while others run towards theirs.
//!
//! The idea of Gottschlich, Pokam and Pereira, "Concurrent Predicates: A Debugging Technique for
//! Every Parallel Programmer" (2013), where a thread sleeps at its predicate in the hope that
//! others arrive meanwhile. Departures:
//!
//! * Holding a task is a matter of priority and no sleep: it needs no time, and disables nothing. A
//!   held task departs when every other task is blocked, has ended, or is held, or when the others
//!   have run for long without an arrival.
//! * A task is held only while its own part of the condition can hold.
//! * A task that arrives repeatedly may be needed at a later arrival. Each execution draws for each
//!   task how many arrivals it passes: none with probability 1/2, one with 1/4, and so on.
//! * While the part of the condition holds that reads static variables only, tasks that can take a
//!   role are preferred: others could only change it.
//! * A task that wrote to a variable of the condition may be needed where it is: what it wrote can be
//!   what makes the condition true, and its next operations may undo it. The second execution stops
//!   every task behind its first such write, and half of the others each task behind a write that is
//!   drawn. Such tasks continue, in turn, when the others cannot run or are at their sites.
//! * Executions alternate between a uniform walk and random priorities of tasks, since some states
//!   need tasks that alternate, and others one task that is far ahead.

use crate::reduction::pending::PendingOperation;
use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("when", "hold threads at the sites of --when until it is satisfied");

/// After this many steps without an arrival or a departure, a held task departs.
const QUIET: u32 = 2_000;

/// What an execution knows about a task.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Traveller {
    /// How often it departed.
    departures: u32,
    /// How many arrivals it passes.
    passes: u32,
    priority: u64,
    /// How many of its writes to variables of the condition it continues after; none if it never stops
    /// behind one.
    writes: Option<u32>,
    /// Whether it stopped behind a write.
    is_behind_write: bool,
    /// Whether it was at a site before the last choice.
    is_at_site: bool,
}

/// A search that holds tasks at sites. Each execution depends on the seed and its number alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct When {
    seed: u64,
    number: u64,
    rng: Rng,
    /// By task.
    travellers: Vec<Traveller>,
    /// Steps since the last arrival or departure.
    quiet: u32,
}

impl When {
    /// A search with this seed.
    #[must_use]
    pub fn new(seed: u64) -> When {
        When { seed, number: 0, rng: Rng::new(seed, 0), travellers: Vec::new(), quiet: 0 }
    }

    fn traveller(&mut self, task: TaskId) -> &mut Traveller {
        let at = usize::from(task.0);
        while self.travellers.len() <= at {
            let of = self.travellers.len() as u64 + 1;
            let mut rng = Rng::new(self.seed ^ of.rotate_left(40), self.number);
            // The first two executions hold every task at its first arrival.
            let passes = if self.number <= 2 { 0 } else { rng.next().trailing_ones() };
            let priority = rng.next();
            let writes = match self.number {
                0 | 1 => None,
                2 => Some(0),
                number if number % 4 < 2 => None,
                _ => Some(rng.next().trailing_ones()),
            };
            let new = Traveller { passes, priority, writes, ..Traveller::default() };
            self.travellers.push(new);
        }
        &mut self.travellers[at]
    }

    /// Whether a task stays at its site.
    fn holds(&mut self, pending: &PendingOperation) -> bool {
        let traveller = self.traveller(pending.task);
        pending.is_at_site && pending.is_worth_holding && traveller.departures >= traveller.passes
    }

    /// One of several tasks: by priority, or each with the same probability.
    fn pick(&mut self, tasks: &[TaskId]) -> TaskId {
        if self.number % 2 == 1 && self.rng.below(16) > 0 {
            let best = tasks.iter().copied().max_by_key(|&task| {
                let at = usize::from(task.0);
                (self.travellers.get(at).map_or(0, |one| one.priority), task)
            });
            return best.unwrap_or(TaskId::MAIN);
        }
        tasks[self.rng.below(tasks.len() as u32) as usize]
    }
}

impl Strategy for When {
    fn begin(&mut self, number: u64) -> bool {
        self.number = number;
        self.rng = Rng::new(self.seed, number);
        self.travellers.clear();
        self.quiet = 0;
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let is_enabled = |task: TaskId| view.enabled.binary_search(&task).is_ok();
        let enabled: Vec<&PendingOperation> =
            view.tasks.iter().filter(|pending| is_enabled(pending.task)).collect();
        let mut free = Vec::with_capacity(enabled.len());
        let mut needed = Vec::new();
        for pending in view.tasks {
            let traveller = self.traveller(pending.task);
            if pending.is_at_site && !traveller.is_at_site {
                self.quiet = 0;
            }
            self.traveller(pending.task).is_at_site = pending.is_at_site;
        }
        for pending in &enabled {
            if !self.holds(pending) && !self.traveller(pending.task).is_behind_write {
                free.push(pending.task);
                if pending.is_needed {
                    needed.push(pending.task);
                }
            }
        }
        // A task that only yields makes no progress while others are held.
        let yields = view.yielded && free.len() == 1 && view.running == free.first().copied();
        self.quiet += 1;
        let chosen = if free.is_empty() || self.quiet > QUIET || yields && self.quiet > 8 {
            let held: Vec<TaskId> =
                view.enabled.iter().copied().filter(|task| !free.contains(task)).collect();
            let behind_write: Vec<TaskId> =
                held.iter().copied().filter(|&task| self.traveller(task).is_behind_write).collect();
            if held.is_empty() {
                self.pick(&free)
            } else if !behind_write.is_empty() {
                // A task at its site stays there.
                let next = behind_write[self.rng.below(behind_write.len() as u32) as usize];
                self.traveller(next).is_behind_write = false;
                self.quiet = 0;
                next
            } else {
                // The one that departed least often, so that every task gets its turn.
                let mut departures = |task: TaskId| self.traveller(task).departures;
                let fewest = held.iter().map(|&task| departures(task)).min().unwrap_or(0);
                let due: Vec<TaskId> =
                    held.into_iter().filter(|&task| departures(task) == fewest).collect();
                due[self.rng.below(due.len() as u32) as usize]
            }
        } else if needed.is_empty() || self.rng.below(8) == 0 {
            self.pick(&free)
        } else {
            self.pick(&needed)
        };
        let operation = enabled.iter().find(|pending| pending.task == chosen);
        if operation.is_some_and(|pending| pending.is_at_site) {
            let traveller = self.traveller(chosen);
            traveller.departures += 1;
            // Its next operation can be at the next site.
            traveller.is_at_site = false;
            self.quiet = 0;
        }
        if operation.is_some_and(|pending| pending.writes_condition) {
            let traveller = self.traveller(chosen);
            match traveller.writes {
                Some(0) => {
                    traveller.is_behind_write = true;
                    traveller.writes = None;
                }
                Some(more) => traveller.writes = Some(more - 1),
                None => {}
            }
        }
        Decision::Task(chosen)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {}

    fn active_part(&self) -> &'static str {
        "when"
    }
}

impl PrefixReplay for When {}

impl Shareable for When {
    const SHARING: Sharing = Sharing::ByNumber;
}

impl Reduction for When {
    fn needs_pending(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::Operation;

    /// A view of tasks with these operations; whether a departure may be held.
    fn chosen(strategy: &mut When, tasks: &[(u16, Operation, bool)]) -> TaskId {
        let pending: Vec<PendingOperation> = tasks
            .iter()
            .map(|&(task, operation, is_worth_holding)| PendingOperation {
                is_at_site: operation == Operation::Depart,
                is_worth_holding,
                ..PendingOperation::new(TaskId(task), operation, 0, 0)
            })
            .collect();
        chosen_of(strategy, &pending)
    }

    fn chosen_of(strategy: &mut When, pending: &[PendingOperation]) -> TaskId {
        let enabled: Vec<TaskId> = pending.iter().map(|one| one.task).collect();
        let operations: Vec<Operation> = pending.iter().map(|one| one.operation).collect();
        let view = View {
            step: 0,
            running: None,
            yielded: false,
            site: 0,
            enabled: &enabled,
            operations: &operations,
            digest: 0,
            expiries: &[],
            gave_way: false,
            tasks: pending,
        };
        match strategy.choose(&view) {
            Decision::Task(task) => task,
            Decision::GiveUp(_) => panic!("it never gives up"),
        }
    }

    #[test]
    fn a_task_at_its_site_waits_for_the_others() {
        use Operation::{Depart, Lock};
        let mut strategy = When::new(0);
        strategy.begin(1);
        for _ in 0..100 {
            assert_eq!(chosen(&mut strategy, &[(1, Depart, true), (2, Lock, false)]), TaskId(2));
        }
        // Its own part of the condition is false.
        let departs = (0..100)
            .filter(|_| chosen(&mut strategy, &[(1, Depart, false), (2, Lock, false)]) == TaskId(1))
            .count();
        assert!(departs > 0);
    }

    #[test]
    fn a_task_stops_behind_its_first_write_to_the_condition_until_the_others_cannot_run() {
        use Operation::{Read, Write};
        let mut strategy = When::new(0);
        strategy.begin(2);
        let writes = |task: u16| PendingOperation {
            writes_condition: true,
            ..PendingOperation::new(TaskId(task), Write, 8, 0)
        };
        let reads = |task: u16| PendingOperation::new(TaskId(task), Read, 8, 0);
        assert_eq!(chosen_of(&mut strategy, &[writes(1)]), TaskId(1));
        for _ in 0..100 {
            assert_eq!(chosen_of(&mut strategy, &[reads(1), reads(2)]), TaskId(2));
        }
        assert_eq!(chosen_of(&mut strategy, &[writes(2)]), TaskId(2));
        // Both are behind their writes. Each continues once, and then neither stops again.
        let first = chosen_of(&mut strategy, &[reads(1), reads(2)]);
        let second = (0..100).map(|_| chosen_of(&mut strategy, &[reads(1), writes(2)]));
        assert!(second.into_iter().any(|task| task == first));
    }

    #[test]
    fn held_tasks_depart_in_turn_when_no_other_can_run() {
        let mut strategy = When::new(0);
        strategy.begin(1);
        let tasks = [(1, Operation::Depart, true), (2, Operation::Depart, true)];
        let first: Vec<TaskId> = (0..6).map(|_| chosen(&mut strategy, &tasks)).collect();
        for pair in first.chunks(2) {
            assert_ne!(pair[0], pair[1], "{first:?}");
        }
    }

    #[test]
    fn a_held_task_departs_after_many_steps_of_the_others() {
        let mut strategy = When::new(0);
        strategy.begin(1);
        let tasks = [(1, Operation::Depart, true), (2, Operation::Lock, false)];
        let departs = (0..3 * QUIET).filter(|_| chosen(&mut strategy, &tasks) == TaskId(1));
        assert_eq!(departs.count(), 2);
    }
}

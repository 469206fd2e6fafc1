//! Whether generated programs are varied enough to be useful.

use super::program::{Call, MutexKind};
use super::{Generated, Outcome};
use std::fmt;

/// How many programs of a suite have each property.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    rows: Vec<(&'static str, usize)>,
    programs: usize,
    schedules: Vec<u64>,
    steps: u64,
    longest: u32,
}

impl Statistics {
    /// Counts over these programs.
    #[must_use]
    pub fn of(programs: &[Generated]) -> Statistics {
        let mut statistics = Statistics { programs: programs.len(), ..Default::default() };
        let mut row = |name, which: &dyn Fn(&Generated) -> bool| {
            statistics.rows.push((name, programs.iter().filter(|&g| which(g)).count()));
        };
        row("one schedule", &|g| g.schedules == 1);
        row("two outcomes or more", &|g| g.outcomes.len() > 1);
        row("four outcomes or more", &|g| g.outcomes.len() > 3);
        row("a deadlock in some schedules", &|g| deadlocks(g) && g.outcomes.len() > 1);
        row("a deadlock in all", &|g| deadlocks(g) && g.outcomes.len() == 1);
        row("lost wake-ups", &|g| g.survey.lost_wakeups > 0);
        row("data choices", &|g| g.survey.with_data > 0);
        row("a refused lock or unlock", &|g| g.survey.with_refusal > 0);
        row("an outcome that needs a preemption", &|g| needs(g, 1));
        row("an outcome that needs two", &|g| needs(g, 2));
        row("main may end before others", &|g| g.survey.cut_short > 0);
        row("waits", &|g| g.program.any_call(|c| matches!(c, Call::Wait { .. })));
        row("broadcasts", &|g| g.program.any_call(|c| matches!(c, Call::Broadcast(_))));
        row("semaphores", &|g| !g.program.semaphores.is_empty());
        row("locks", &|g| g.program.any_call(|c| matches!(c, Call::Lock(_))));
        row("try locks", &|g| g.program.any_call(|c| matches!(c, Call::TryLock(_))));
        row("a recursive mutex", &|g| g.program.mutexes.contains(&MutexKind::Recursive));
        row("an error-checking mutex", &|g| g.program.mutexes.contains(&MutexKind::ErrorChecking));
        row("read-write locks", &|g| !g.program.rwlocks.is_empty());
        row("barriers", &|g| g.program.any_call(|c| matches!(c, Call::Meet(_))));
        row("spin locks", &|g| g.program.any_call(|c| matches!(c, Call::SpinLock(_))));
        let timed = |c| {
            matches!(
                c,
                Call::TimedLock(..)
                    | Call::SemTimedWait(..)
                    | Call::TimedReadLock(..)
                    | Call::TimedWriteLock(..)
                    | Call::TimedWait { .. }
                    | Call::TryJoin { limit: Some(_), .. }
            )
        };
        row("limits of time", &|g| g.program.any_call(timed));
        row("robust mutexes", &|g| g.program.mutexes.contains(&MutexKind::Robust));
        row("futex calls", &|g| g.program.any_call(|c| matches!(c, Call::FutexWait { .. })));
        row("cancellation", &|g| g.program.any_call(|c| matches!(c, Call::Cancel { .. })));
        row("signals", &|g| g.program.any_call(|c| matches!(c, Call::Kill { .. })));
        row("things done once", &|g| g.program.any_call(|c| matches!(c, Call::Once(_))));
        row("C11", &|g| g.program.c11);
        row("yields", &|g| g.program.any_call(|c| c == Call::Yield));
        row("detached tasks", &|g| g.program.any_call(|c| matches!(c, Call::Detach { .. })));
        row("three tasks beside main", &|g| g.program.handles == 3);
        row("tasks created by others than main", &|g| {
            let mut others = g.program.clone();
            others.bodies[0].clear();
            others.any_call(|c| matches!(c, Call::Create { .. }))
        });
        statistics.schedules = programs.iter().map(|g| g.schedules).collect();
        statistics.schedules.sort_unstable();
        statistics.steps = programs.iter().map(|g| g.survey.steps).sum();
        statistics.longest = programs.iter().map(|g| g.survey.longest).max().unwrap_or(0);
        statistics
    }

    /// The number of programs with this property; none if there is no such row.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<usize> {
        self.rows.iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

fn deadlocks(generated: &Generated) -> bool {
    generated.outcomes.contains(&Outcome::Deadlock)
}

fn needs(generated: &Generated, preemptions: u32) -> bool {
    generated.survey.outcomes.values().any(|&least| least >= preemptions)
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: u64 = self.schedules.iter().sum();
        let at = |part: usize| {
            let last = self.schedules.len().saturating_sub(1);
            self.schedules.get(last * part / 10).copied().unwrap_or(0)
        };
        writeln!(f, "{:6} programs", self.programs)?;
        writeln!(f, "{total:6} schedules; deciles 1, 5, 9: {}, {}, {}", at(1), at(5), at(9))?;
        writeln!(f, "{:6} steps, at most {} in a schedule", self.steps, self.longest)?;
        for (name, count) in &self.rows {
            writeln!(f, "{count:6} {name}")?;
        }
        Ok(())
    }
}

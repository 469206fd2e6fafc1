//! The machines of a search, by their heartbeats. Pure.

use crate::protocol::{Heartbeat, SILENCE};
use replay_core::Machines;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A machine and its last heartbeat.
#[derive(Debug)]
struct Machine {
    last: Heartbeat,
    seen: Instant,
}

/// Something that the user wants to know.
#[derive(Debug, PartialEq)]
pub(crate) enum Change {
    /// A machine joined.
    Joined(Heartbeat),
    /// A machine left.
    Left(Heartbeat),
    /// A machine has been silent for too long.
    Lost(Heartbeat),
    /// A machine refuses the search.
    Refuses(Heartbeat),
}

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Table {
    machines: BTreeMap<String, Machine>,
    lost: u32,
}

impl Table {
    /// Takes a heartbeat of a machine that runs, or refuses, pieces of the search.
    pub(crate) fn heard(&mut self, beat: Heartbeat, now: Instant) -> Option<Change> {
        if beat.leaves {
            let known = self.machines.remove(&beat.machine);
            let ran = known.is_some_and(|known| known.last.refuses.is_none());
            return ran.then_some(Change::Left(beat));
        }
        let machine = Machine { last: beat.clone(), seen: now };
        let before = self.machines.insert(beat.machine.clone(), machine);
        let refused = before.as_ref().is_some_and(|before| before.last.refuses == beat.refuses);
        match (&before, &beat.refuses) {
            (_, Some(_)) if !refused => Some(Change::Refuses(beat)),
            (_, Some(_)) => None,
            (None, None) => Some(Change::Joined(beat)),
            (Some(before), None) if before.last.refuses.is_some() => Some(Change::Joined(beat)),
            (Some(_), None) => None,
        }
    }

    /// Takes a heartbeat of a machine that runs pieces of another search, or of none.
    pub(crate) fn heard_elsewhere(&mut self, beat: Heartbeat, now: Instant) -> Option<Change> {
        let refuses_another = beat.refuses.is_some();
        (!refuses_another).then(|| self.heard(Heartbeat { leaves: true, ..beat }, now)).flatten()
    }

    /// Removes the machines that have been silent for too long.
    pub(crate) fn expire(&mut self, now: Instant, silence: Duration) -> Vec<Change> {
        let silent = |machine: &Machine| now.saturating_duration_since(machine.seen) > silence;
        let gone: Vec<String> = self
            .machines
            .iter()
            .filter(|(_, machine)| silent(machine))
            .map(|(name, _)| name.clone())
            .collect();
        let mut changes = Vec::new();
        for name in gone {
            if let Some(machine) = self.machines.remove(&name)
                && machine.last.refuses.is_none()
            {
                self.lost += 1;
                changes.push(Change::Lost(machine.last));
            }
        }
        changes
    }

    /// The last heartbeat of each machine.
    pub(crate) fn list(&self) -> impl Iterator<Item = &Heartbeat> + Clone {
        self.machines.values().map(|machine| &machine.last)
    }

    /// The machines that run pieces.
    pub(crate) fn counts(&self) -> Machines {
        let run = || self.list().filter(|beat| beat.refuses.is_none());
        Machines {
            present: run().count() as u32,
            workers: run().map(|beat| beat.workers).sum(),
            lost: self.lost,
        }
    }
}

impl Change {
    /// The change as a line for the user.
    pub(crate) fn describe(&self) -> String {
        let workers = |beat: &Heartbeat| match beat.workers {
            1 => "1 worker".to_owned(),
            more => format!("{more} workers"),
        };
        match self {
            Change::Joined(beat) => format!("{} joined with {}", beat.machine, workers(beat)),
            Change::Left(beat) => format!("{} left", beat.machine),
            Change::Lost(beat) => format!(
                "{} was lost: nothing was heard from it for {} s; others run its pieces",
                beat.machine,
                SILENCE.as_secs()
            ),
            Change::Refuses(beat) => format!(
                "{} refuses the search: {}",
                beat.machine,
                beat.refuses.as_deref().unwrap_or_default()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(machine: &str) -> Heartbeat {
        Heartbeat {
            machine: machine.into(),
            host: "host".into(),
            workers: 2,
            search: Some("bank".into()),
            executions: 0,
            rate: 0.0,
            refuses: None,
            leaves: false,
        }
    }

    #[test]
    fn machines_join_leave_and_are_lost() {
        let (mut table, start) = (Table::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(table.heard(beat("a"), start), Some(Change::Joined(beat("a"))));
        assert_eq!(table.heard(beat("a"), start), None);
        table.heard(beat("b"), start);
        assert_eq!(table.counts(), Machines { present: 2, workers: 4, lost: 0 });
        let leaving = Heartbeat { leaves: true, ..beat("a") };
        assert_eq!(table.heard(leaving.clone(), after(1)), Some(Change::Left(leaving)));
        assert_eq!(table.expire(after(6), SILENCE), []);
        assert_eq!(table.expire(after(7), SILENCE), [Change::Lost(beat("b"))]);
        assert_eq!(table.counts(), Machines { present: 0, workers: 0, lost: 1 });
        // It was only slow.
        assert_eq!(table.heard(beat("b"), after(8)), Some(Change::Joined(beat("b"))));
    }

    #[test]
    fn a_refusal_is_reported_once_and_is_no_loss() {
        let (mut table, start) = (Table::default(), Instant::now());
        let refusal = Heartbeat { refuses: Some("no".into()), ..beat("a") };
        assert_eq!(table.heard(refusal.clone(), start), Some(Change::Refuses(refusal.clone())));
        assert_eq!(table.heard(refusal, start), None);
        assert_eq!(table.counts().present, 0);
        assert_eq!(table.expire(start + Duration::from_secs(60), SILENCE), []);
        assert_eq!(table.counts().lost, 0);
    }

    #[test]
    fn changes_are_described() {
        let refusal = Heartbeat { refuses: Some("another build".into()), workers: 1, ..beat("a") };
        for (change, line) in [
            (Change::Joined(beat("a")), "a joined with 2 workers"),
            (Change::Joined(refusal.clone()), "a joined with 1 worker"),
            (Change::Left(beat("a")), "a left"),
            (
                Change::Lost(beat("a")),
                "a was lost: nothing was heard from it for 6 s; others run its pieces",
            ),
            (Change::Refuses(refusal), "a refuses the search: another build"),
        ] {
            assert_eq!(change.describe(), line);
        }
    }
}

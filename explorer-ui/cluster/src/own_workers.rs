//! The workers of a private cluster, which no others can join: once none of them runs pieces, the search
//! has to end. Pure.

use crate::protocol::Heartbeat;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long all workers may be silent, on a busy machine.
const SILENCE: Duration = Duration::from_secs(60);
/// What counts of a longer pause: this process, and the workers, may have been stopped.
const MOST: Duration = Duration::from_secs(1);

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct OwnWorkers {
    number: usize,
    /// Why a worker refuses the search, by its name.
    refusals: BTreeMap<String, String>,
    silent: Duration,
    looked: Instant,
}

impl OwnWorkers {
    /// `number` workers that have just been started.
    pub(crate) fn new(number: u32, now: Instant) -> OwnWorkers {
        OwnWorkers {
            number: number as usize,
            refusals: BTreeMap::new(),
            silent: Duration::ZERO,
            looked: now,
        }
    }

    /// Takes a heartbeat of a worker. It may serve another search.
    pub(crate) fn heard(&mut self, beat: &Heartbeat, search: &str) {
        self.silent = Duration::ZERO;
        if beat.search.as_deref() != Some(search) {
            return;
        }
        match &beat.refuses {
            Some(why) => self.refusals.insert(beat.machine.clone(), why.clone()),
            None => self.refusals.remove(&beat.machine),
        };
    }

    /// Why no worker will run a piece of the search.
    pub(crate) fn end(&mut self, now: Instant) -> Option<String> {
        self.silent += now.saturating_duration_since(self.looked).min(MOST);
        self.looked = now;
        if self.refusals.len() >= self.number
            && let Some(why) = self.refusals.values().next()
        {
            return Some(format!("all workers of the private cluster refuse the search: {why}"));
        }
        (self.silent > SILENCE).then(|| {
            format!(
                "no worker of the private cluster was heard for {} s: their processes have ended, or \
                 the machine has no time for them; search again, or without --cluster",
                SILENCE.as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(machine: &str, search: &str, refuses: Option<&str>) -> Heartbeat {
        Heartbeat {
            machine: machine.into(),
            host: "host".into(),
            workers: 1,
            search: Some(search.into()),
            executions: 0,
            rate: 0.0,
            refuses: refuses.map(str::to_owned),
            leaves: false,
        }
    }

    #[test]
    fn a_search_that_all_workers_refuse_ends() {
        let start = Instant::now();
        let mut own = OwnWorkers::new(2, start);
        own.heard(&beat("a", "bank", Some("no")), "bank");
        // Of the same worker again, and of another search.
        own.heard(&beat("a", "bank", Some("no")), "bank");
        own.heard(&beat("b", "queue", Some("no")), "bank");
        assert_eq!(own.end(start), None);
        own.heard(&beat("b", "bank", Some("no")), "bank");
        // Serving another search meanwhile changes nothing; serving this one does.
        own.heard(&beat("a", "queue", None), "bank");
        let end = own.end(start);
        assert!(end.is_some_and(|why| why.ends_with("refuse the search: no")));
        own.heard(&beat("b", "bank", None), "bank");
        assert_eq!(own.end(start), None);
    }

    #[test]
    fn a_search_without_workers_ends_but_not_because_the_machine_was_suspended() {
        let start = Instant::now();
        let mut own = OwnWorkers::new(1, start);
        let mut now = start + SILENCE * 10;
        assert_eq!(own.end(now), None);
        own.heard(&beat("a", "queue", None), "bank");
        let mut looks = 0;
        let why = loop {
            if let Some(why) = own.end(now) {
                break why;
            }
            looks += 1;
            now += MOST;
        };
        assert_eq!(looks, SILENCE.as_secs() as i32 + 1);
        let says = " s: their processes have ended, or the machine has no time for them; search again, or \
                    without --cluster";
        assert!(why.ends_with(says), "{why}");
    }
}

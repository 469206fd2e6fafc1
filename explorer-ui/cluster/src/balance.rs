//! Which of the running searches a machine serves. Each machine decides for itself, by the heartbeats of
//! the others, so that every search has a machine, or has one in turn if there are more searches than
//! machines. Pure.

use crate::protocol::Heartbeat;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of other machines that run pieces of the search.
fn machines<'a>(
    search: &str,
    me: &str,
    beats: impl Iterator<Item = &'a Heartbeat>,
) -> impl Iterator<Item = &'a Heartbeat> {
    beats.filter(move |beat| {
        beat.machine != me && beat.refuses.is_none() && beat.search.as_deref() == Some(search)
    })
}

/// The order in which the machine `me` serves these searches: first those with the fewest machines, and of
/// these the one that it has not served for longest. `served` has the number of the turn in which it last
/// served a search. Different machines prefer different searches of equal rank.
pub(crate) fn order<'a>(
    searches: &mut [(String, impl Sized)],
    served: &BTreeMap<String, u64>,
    me: &str,
    beats: impl Iterator<Item = &'a Heartbeat> + Clone,
) {
    searches.sort_by_cached_key(|(name, _)| {
        let mut hasher = DefaultHasher::new();
        (me, name).hash(&mut hasher);
        let there = machines(name, me, beats.clone()).count();
        (there, served.get(name).copied(), hasher.finish())
    });
}

/// Whether the machine `me`, which serves `served`, should serve one of the `others`: one with at least
/// two machines fewer, or, if `me` has served its search for a while, one without any. Only one machine
/// of a search leaves at a time: the one with the last name.
pub(crate) fn leaves<'a>(
    served: &str,
    others: impl Iterator<Item = &'a str>,
    for_a_while: bool,
    me: &str,
    beats: impl Iterator<Item = &'a Heartbeat> + Clone,
) -> bool {
    let here = machines(served, me, beats.clone()).count() + 1;
    let is_last = machines(served, me, beats.clone()).all(|beat| beat.machine.as_str() < me);
    let least = others.map(|other| machines(other, me, beats.clone()).count()).min();
    is_last && least.is_some_and(|least| least + 2 <= here || least == 0 && for_a_while)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(machine: &str, search: Option<&str>) -> Heartbeat {
        Heartbeat {
            machine: machine.into(),
            host: "host".into(),
            workers: 1,
            search: search.map(str::to_owned),
            executions: 0,
            rate: 0.0,
            refuses: None,
            leaves: false,
        }
    }

    /// Machines that decide one after another, each knowing what the others do.
    fn settled(machines: usize, searches: usize, rounds: usize) -> Vec<BTreeMap<String, usize>> {
        let names: Vec<String> = (0..searches).map(|number| format!("s{number}")).collect();
        let machines: Vec<String> = (0..machines).map(|number| format!("m{number}")).collect();
        let mut beats: Vec<Heartbeat> = machines.iter().map(|name| beat(name, None)).collect();
        let mut history = Vec::new();
        let mut served: Vec<BTreeMap<String, u64>> = vec![BTreeMap::new(); machines.len()];
        for round in 0..rounds {
            for (number, me) in machines.iter().enumerate() {
                let now = beats[number].search.clone();
                let stays = now.as_ref().is_some_and(|served| {
                    let others = names.iter().filter(|name| *name != served).map(String::as_str);
                    !leaves(served, others, true, me, beats.iter())
                });
                if !stays {
                    let mut all: Vec<(String, ())> =
                        names.iter().map(|name| (name.clone(), ())).collect();
                    order(&mut all, &served[number], me, beats.iter());
                    let next = all[0].0.clone();
                    served[number].insert(next.clone(), round as u64);
                    beats[number].search = Some(next);
                }
            }
            let mut counts = BTreeMap::new();
            for beat in &beats {
                *counts.entry(beat.search.clone().unwrap_or_default()).or_default() += 1;
            }
            history.push(counts);
        }
        history
    }

    #[test]
    fn every_search_has_a_machine_and_none_has_two_more_than_another() {
        for (machines, searches) in [(3, 3), (8, 3), (5, 5), (16, 4)] {
            let last = settled(machines, searches, 20).pop().expect("there were rounds");
            let (least, most) = (last.values().min(), last.values().max());
            assert_eq!(last.len(), searches, "{machines} {searches}: {last:?}");
            assert!(
                most <= least.map(|least| least + 1).as_ref(),
                "{machines} {searches}: {last:?}"
            );
        }
    }

    #[test]
    fn more_searches_than_machines_are_served_in_turn() {
        for (machines, searches) in [(1, 7), (2, 5), (3, 20)] {
            let history = settled(machines, searches, 10 * searches);
            let mut rounds: BTreeMap<&String, usize> = BTreeMap::new();
            history
                .iter()
                .flat_map(BTreeMap::keys)
                .for_each(|name| *rounds.entry(name).or_default() += 1);
            let each = 10 * machines;
            assert_eq!(rounds.len(), searches, "{machines}: {rounds:?}");
            assert!(
                rounds.values().all(|&turns| turns > each / 2 && turns < 2 * each),
                "{machines}: {rounds:?}"
            );
        }
    }

    #[test]
    fn machines_that_refuse_a_search_do_not_serve_it() {
        let refuses = Heartbeat { refuses: Some("no".into()), ..beat("b", Some("s1")) };
        let beats = [refuses, beat("c", Some("s0")), beat("d", Some("s0"))];
        let mut all = vec![("s0".to_owned(), ()), ("s1".to_owned(), ())];
        order(&mut all, &BTreeMap::new(), "a", beats.iter());
        assert_eq!(all[0].0, "s1");
        assert!(leaves("s0", ["s1"].into_iter(), false, "e", beats.iter()));
        assert!(!leaves("s0", ["s1"].into_iter(), false, "a", beats.iter()), "d is the last");
    }
}

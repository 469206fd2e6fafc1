//! The pieces that a collector has given out. Pure.
//!
//! The key of a piece is a digest of its content, so that a collector that continues a search gives
//! the same piece the same key, and results that arrived meanwhile are used. The first result with a
//! key counts; the server refuses a second one, and this ledger ignores it.

use std::collections::HashMap;

/// What to do with a new piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Issue<R> {
    /// Send it, with this key.
    Send(String),
    /// Its result is already there.
    Known(R),
}

/// See the module documentation. `R` is a result.
#[derive(Debug)]
pub(crate) struct Ledger<R> {
    /// The pieces without a result, by their key.
    outstanding: HashMap<String, usize>,
    /// How many results of pieces with this content were accepted.
    accepted: HashMap<blake3::Hash, u32>,
    contents: HashMap<String, blake3::Hash>,
    /// Results of pieces that were not given out yet: of an earlier collector.
    early: HashMap<String, R>,
    /// How many early results are kept.
    room: usize,
    /// Distinguishes the keys of this search from those of others.
    salt: Vec<u8>,
}

impl<R> Ledger<R> {
    pub(crate) fn new(room: usize, salt: &str) -> Ledger<R> {
        Ledger {
            outstanding: HashMap::new(),
            accepted: HashMap::new(),
            contents: HashMap::new(),
            early: HashMap::new(),
            room,
            salt: salt.as_bytes().to_vec(),
        }
    }

    /// Gives out a piece.
    pub(crate) fn issue(&mut self, piece: usize, content: &[u8]) -> Issue<R> {
        let digest = blake3::Hasher::new().update(&self.salt).update(content).finalize();
        let attempt = self.accepted.get(&digest).copied().unwrap_or_default();
        let key = key(&digest, attempt);
        if let Some(result) = self.early.remove(&key) {
            *self.accepted.entry(digest).or_default() += 1;
            return Issue::Known(result);
        }
        self.outstanding.insert(key.clone(), piece);
        self.contents.insert(key.clone(), digest);
        Issue::Send(key)
    }

    /// Takes a result. Returns it with its piece if the piece is outstanding.
    pub(crate) fn accept(&mut self, key: &str, result: R) -> Option<(usize, R)> {
        let Some(piece) = self.outstanding.remove(key) else {
            let is_new = !self.contents.contains_key(key);
            if is_new && self.early.len() < self.room {
                self.early.insert(key.to_owned(), result);
            }
            return None;
        };
        if let Some(digest) = self.contents.get(key) {
            *self.accepted.entry(*digest).or_default() += 1;
        }
        Some((piece, result))
    }

    /// Takes back the pieces from this one on. Returns each with its key.
    pub(crate) fn drop_from(&mut self, piece: usize) -> Vec<(usize, String)> {
        let dropped: Vec<(usize, String)> = self
            .outstanding
            .iter()
            .filter(|&(_, &at)| at >= piece)
            .map(|(key, &at)| (at, key.clone()))
            .collect();
        for (_, key) in &dropped {
            self.outstanding.remove(key);
            // The same piece may be given out again.
            self.contents.remove(key);
        }
        dropped
    }

    /// The number of pieces without a result.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }
}

/// The key of the piece with this content, of which `attempt` results were accepted.
fn key(digest: &blake3::Hash, attempt: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(digest.as_bytes());
    hasher.update(&attempt.to_le_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(issue: Issue<&'static str>) -> String {
        match issue {
            Issue::Send(key) => key,
            Issue::Known(result) => panic!("there was a result: {result}"),
        }
    }

    #[test]
    fn the_first_result_of_a_piece_counts() {
        let mut ledger = Ledger::new(8, "one");
        let key = sent(ledger.issue(3, b"work"));
        assert_eq!(ledger.accept(&key, "one"), Some((3, "one")));
        assert_eq!(ledger.accept(&key, "two"), None);
        assert_eq!(ledger.outstanding(), 0);
        // The same content once more, as after the loss of a process.
        let again = sent(ledger.issue(3, b"work"));
        assert_ne!(again, key);
        assert_eq!(ledger.accept(&again, "three"), Some((3, "three")));
    }

    #[test]
    fn results_for_an_earlier_collector_are_used() {
        let mut before: Ledger<&str> = Ledger::new(8, "one");
        let key = sent(before.issue(0, b"work"));
        let mut now = Ledger::new(8, "one");
        assert_eq!(now.accept(&key, "done meanwhile"), None);
        assert_eq!(now.issue(5, b"work"), Issue::Known("done meanwhile"));
        // Only once.
        assert_ne!(sent(now.issue(5, b"work")), key);
    }

    #[test]
    fn searches_of_the_same_pieces_have_other_keys() {
        let mut one: Ledger<&str> = Ledger::new(8, "one");
        let mut two: Ledger<&str> = Ledger::new(8, "two");
        assert_ne!(sent(one.issue(0, b"work")), sent(two.issue(0, b"work")));
    }

    #[test]
    fn results_of_dropped_pieces_are_ignored_until_the_piece_is_given_out_again() {
        let mut ledger = Ledger::new(8, "one");
        let keys: Vec<String> = (0..4).map(|at| sent(ledger.issue(at, &[at as u8]))).collect();
        let mut dropped = ledger.drop_from(2);
        dropped.sort();
        assert_eq!(dropped, [(2, keys[2].clone()), (3, keys[3].clone())]);
        assert_eq!(ledger.drop_from(2), []);
        assert_eq!(ledger.accept(&keys[2], "late"), None);
        assert_eq!(ledger.issue(2, &[2]), Issue::Known("late"));
        assert_eq!(ledger.outstanding(), 2);
    }

    #[test]
    fn a_flood_of_unknown_results_does_not_fill_the_memory() {
        let mut ledger = Ledger::new(2, "one");
        for number in 0..100 {
            assert_eq!(ledger.accept(&format!("{number}"), "junk"), None);
        }
        assert_eq!(ledger.early.len(), 2);
    }
}

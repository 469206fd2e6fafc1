//! What a search has come to, on disk: so that another can go on from there, also after this one was
//! killed.

use super::round::{Counts, Round};
use crate::distinct::Distinct;
use crate::store::{self, sealed};
use crate::{Error, SearchOptions, Target};
use search::Frontier;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use traces::Choice;
use traces::points::Learned;
use traces::report::{Bug, Race};
use traces::wire::Found;

/// The file's name in the directory of the traces.
const NAME: &str = "search.heddle-state";
const MAGIC: &[u8; 8] = b"heddles\x01";
/// What the runtime and the strategies of this build understand; any other build's is refused.
const BUILD: &str = env!("CARGO_PKG_VERSION");

/// A failure that was found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Known {
    /// The runtime's keys for it.
    pub(super) keys: Vec<u64>,
    pub(super) bug: Bug,
    /// The part of the strategy that found it first.
    pub(super) part: String,
    /// Where it was found first.
    pub(super) first: Place,
    /// The fewest preemptions that it took, and where.
    pub(super) best: (u32, Place),
}

impl Known {
    /// It was found here, too.
    pub(super) fn also_at(&mut self, place: Place, part: String) {
        if place < self.first {
            (self.first, self.part) = (place, part);
        }
    }
}

/// What was found and is still to be recorded: the user had enough before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PutOff {
    pub(super) place: Place,
    pub(super) found_at: u64,
    pub(super) found: Found,
}

/// An execution's place in the search, which does not depend on who ran it when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) round: u64,
    pub(super) piece: u64,
    pub(super) number: u64,
    /// Whether it was part of the search, and not a check.
    pub(super) searches: bool,
}

impl Place {
    /// Before the search began.
    pub(super) const BEFORE: Place = Place { round: 0, piece: 0, number: 0, searches: false };

    /// Whether it lies in this piece of this round.
    pub(super) fn is_in(&self, (round, piece): (u64, u64)) -> bool {
        (self.round, self.piece) == (round, piece)
    }
}

/// Everything that a search goes on from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) frontier: Frontier,
    /// The round that is being done.
    pub(super) round: Round,
    /// How many rounds there were, with that one.
    pub(super) rounds: u64,
    /// What was counted in the rounds before.
    pub(super) counts: Counts,
    pub(super) distinct: Distinct,
    pub(super) bugs: Vec<Known>,
    /// Failures that were met while it was learned which accesses conflict.
    pub(super) early: Vec<Found>,
    /// What is still to be recorded.
    pub(super) put_off: Vec<PutOff>,
    pub(super) unsupported: Vec<String>,
    /// What is known of the program's accesses to memory.
    pub(super) learned: Learned,
    /// Races that are no failures, their signatures, and the runtime's keys for them.
    pub(super) races: Vec<(String, Race)>,
    pub(super) left_held: Vec<String>,
    pub(super) raced: BTreeSet<String>,
    pub(super) raced_keys: BTreeSet<u64>,
    /// Signatures of what was suppressed, each with its rule; and the keys of failures among them.
    pub(super) suppressed: BTreeMap<String, String>,
    pub(super) suppressed_keys: BTreeSet<u64>,
    /// Conflicts of which nothing more is known.
    pub(super) conflicts: BTreeSet<String>,
    /// What delayed stores could lead to.
    pub(super) store_buffers: BTreeSet<String>,
    /// Seconds that earlier searches took.
    pub(super) earlier: f64,
    /// Whether it could not be written, and that was said.
    #[serde(skip)]
    pub(super) unwritable: bool,
}

impl Saved {
    pub(super) fn new(frontier: Frontier) -> Saved {
        Saved {
            frontier,
            round: Round::default(),
            rounds: 0,
            counts: Counts::default(),
            distinct: Distinct::default(),
            bugs: Vec::new(),
            early: Vec::new(),
            put_off: Vec::new(),
            unsupported: Vec::new(),
            learned: Learned::default(),
            races: Vec::new(),
            left_held: Vec::new(),
            raced: BTreeSet::new(),
            raced_keys: BTreeSet::new(),
            suppressed: BTreeMap::new(),
            suppressed_keys: BTreeSet::new(),
            conflicts: BTreeSet::new(),
            store_buffers: BTreeSet::new(),
            earlier: 0.0,
            unwritable: false,
        }
    }
}

/// What has to be the same for a search to be taken up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    build: String,
    program: PathBuf,
    build_id: String,
    args: Vec<Vec<u8>>,
    strategy: String,
    seed: u64,
    bound: Option<u32>,
    max_steps: u64,
    spurious: u32,
    fail_on: Vec<u8>,
    points: String,
    scope: (Vec<String>, Vec<String>),
    /// The schedule that it goes on from.
    prefix: Vec<Choice>,
}

impl About {
    fn new(target: &Target, options: &SearchOptions) -> About {
        let bytes = |text: &std::ffi::OsString| text.as_encoded_bytes().to_vec();
        About {
            build: BUILD.into(),
            program: target.program.clone(),
            build_id: target.build_id.clone(),
            args: target.args.iter().map(bytes).collect(),
            strategy: format!("{:?}", options.strategy),
            seed: options.seed,
            bound: options.bound,
            max_steps: options.max_steps,
            spurious: options.spurious,
            fail_on: options.fail_on.iter().map(|kind| kind.code()).collect(),
            points: options.points.name().into(),
            scope: (options.atomic.clone(), options.focus.clone()),
            prefix: options.prefix.clone(),
        }
    }

    /// What keeps a search that this is about from being taken up as `now`.
    fn differs(&self, now: &About) -> Option<&'static str> {
        let differences = [
            (self.build != now.build, "another version of Heddle wrote it: search anew"),
            (self.program != now.program, "it is the search of another program"),
            (
                self.build_id != now.build_id,
                "the program was built anew since: search anew, or build it as it was",
            ),
            (self.args != now.args, "it is the search of the program with other arguments"),
            (
                self.strategy != now.strategy || self.bound != now.bound || self.seed != now.seed,
                "it went by another strategy, bound or seed: give the same ones",
            ),
            (
                self.max_steps != now.max_steps
                    || self.spurious != now.spurious
                    || self.fail_on != now.fail_on
                    || self.points != now.points
                    || self.scope != now.scope,
                "it had another --max-steps, --spurious, --fail-on, --points, --atomic or --focus: give \
                 the same ones",
            ),
            (
                self.prefix != now.prefix,
                "it went on from the middle of a schedule, and covers what follows from there: search \
                 anew, or from there",
            ),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
    }
}

fn path(options: &SearchOptions) -> PathBuf {
    options.out.join(NAME)
}

/// Writes it down, whole or not at all.
pub(super) fn save(saved: &Saved, target: &Target, options: &SearchOptions) -> Result<(), Error> {
    let body = rmp_serde::to_vec(&(About::new(target, options), saved))
        .map_err(|error| Error::Runtime(format!("the search cannot be written down: {error}")))?;
    store::write(&path(options), &sealed::seal(MAGIC, &body)).map_err(|source| Error::System {
        what: format!("what the search has come to cannot be kept in {}", options.out.display()),
        source,
    })
}

/// Reads it back, for the same program and the same search.
pub(super) fn load(target: &Target, options: &SearchOptions) -> Result<Saved, Error> {
    let path = path(options);
    let bad = |what: &str| Error::File { path: path.clone(), what: what.to_owned() };
    let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            bad("there is no search here to go on with: name the directory of one that was stopped")
        }
        _ => bad(&format!("it cannot be read: {error}")),
    })?;
    let damaged = || bad("it is damaged or was not written to its end: search anew");
    if !bytes.starts_with(MAGIC) {
        return Err(bad("it is no search of Heddle's"));
    }
    let body = sealed::open(MAGIC, &bytes).ok_or_else(damaged)?;
    // What it is about stands first, and can be read whatever the rest looks like.
    let mut reader = rmp_serde::Deserializer::new(body);
    let about = Head::deserialize(&mut reader)
        .map_err(|_| bad("another version of Heddle wrote it: search anew"))?;
    if let Some(what) = about.0.differs(&About::new(target, options)) {
        return Err(bad(what));
    }
    let (_, saved): (About, Saved) = rmp_serde::from_slice(body).map_err(|_| damaged())?;
    Ok(saved)
}

/// The first of the two parts.
struct Head(About);

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Head, D::Error> {
        struct First;
        impl<'de> serde::de::Visitor<'de> for First {
            type Value = Head;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a search")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Head, A::Error> {
                let about = list.next_element()?;
                let head = about.map(Head).ok_or_else(|| serde::de::Error::custom("nothing"))?;
                while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(head)
            }
        }
        from.deserialize_seq(First)
    }
}

/// There is nothing to go on from any more.
pub(super) fn forget(options: &SearchOptions) {
    let _ = std::fs::remove_file(path(options));
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::TaskId;
    use traces::wire::Plan;

    /// A search handed over to from a step of the explorer says nothing of schedules that begin
    /// otherwise.
    #[test]
    fn a_search_from_the_middle_of_a_schedule_is_not_gone_on_with_as_a_whole_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().to_owned();
        let target = Target {
            program: "/bin/true".into(),
            name: "true".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: "/".into(),
            build_id: String::new(),
        };
        let whole = SearchOptions { out, ..SearchOptions::default() };
        let part = SearchOptions { prefix: vec![Choice::Task(TaskId(1))], ..whole.clone() };
        save(&Saved::new(Frontier::new(Plan::Dpor { bound: None })), &target, &part)
            .expect("saved");
        let refused = load(&target, &whole).map(drop).expect_err("it covers less");
        assert!(refused.to_string().contains("middle of a schedule"), "{refused}");
        assert!(load(&target, &part).is_ok());
    }
}

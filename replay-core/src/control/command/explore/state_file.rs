//! The state of a search on disk, so that another process can resume it, even after this one was
//! killed.

use super::round::{Counts, Round};
use crate::control::distinct::Distinct;
use crate::launch::this_build;
use crate::store::sealed;
use crate::{Error, SearchOptions, Target};
use search::{Frontier, Visits};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use traces::Choice;
use traces::clients::Client;
use traces::compact;
use traces::points::{Learned, ModuleAddress};
use traces::report::{Bug, Race};
use traces::wire::FoundFailure;

/// The file's name in the directory of the traces.
const NAME: &str = "search.heddle-state";
const MAGIC: &[u8; 8] = b"heddles\x01";

/// A failure that was recorded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KnownFailure {
    /// The keys that the runtime gives to the failure.
    pub(super) keys: Vec<u64>,
    pub(super) bug: Bug,
    /// The part of the strategy that found the failure first.
    pub(super) part: String,
    /// The first execution with this failure.
    pub(super) first: SearchPosition,
    /// The fewest preemptions with which the failure occurred, and the execution.
    pub(super) best: (u32, SearchPosition),
}

impl KnownFailure {
    /// Records that this execution failed in the same way.
    pub(super) fn also_found_at(&mut self, place: SearchPosition, part: String) {
        if place < self.first {
            (self.first, self.part) = (place, part);
        }
    }
}

/// A failure that is not recorded yet, because the user interrupted the search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Unrecorded {
    pub(super) place: SearchPosition,
    pub(super) found_at: u64,
    pub(super) found: FoundFailure,
}

/// The position of an execution in the search. It does not depend on which worker ran the
/// execution, or when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct SearchPosition {
    pub(super) round: u64,
    pub(super) piece: u64,
    pub(super) number: u64,
    /// Whether the execution belongs to the search and is not a verification walk.
    pub(super) searches: bool,
}

impl SearchPosition {
    /// The position of executions in the learning phase whose failures the search may find again.
    pub(super) const BEFORE: SearchPosition =
        SearchPosition { round: 0, piece: 0, number: 0, searches: false };

    /// Whether the execution belongs to this piece of this round.
    pub(super) fn is_in(&self, (round, piece): (u64, u64)) -> bool {
        (self.round, self.piece) == (round, piece)
    }
}

/// Everything needed to resume a search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SearchState {
    pub(super) frontier: Frontier,
    /// The current round.
    pub(super) round: Round,
    /// Number of rounds, including the current one.
    pub(super) rounds: u64,
    /// Counters of the completed rounds.
    pub(super) counts: Counts,
    /// The most steps of an execution of the learning phase, where other limits on steps hold.
    pub(super) learning_steps: u64,
    /// The limit of executions that ended the learning phase, if one did.
    pub(super) learning_cut_at: Option<u64>,
    pub(super) distinct: Distinct,
    pub(super) bugs: Vec<KnownFailure>,
    /// Failures of the learning phase that the search may find again, with more points.
    pub(super) early: Vec<FoundFailure>,
    /// Failures that are not recorded yet.
    pub(super) unrecorded: Vec<Unrecorded>,
    pub(super) unsupported: Vec<String>,
    /// The learned points.
    pub(super) learned: Learned,
    /// Races that are not failures, their signatures, and the runtime's keys for them.
    pub(super) races: Vec<(String, Race)>,
    pub(super) left_held: Vec<String>,
    pub(super) raced: BTreeSet<String>,
    pub(super) raced_keys: BTreeSet<u64>,
    /// Signatures of suppressed failures, each with its rule, and the keys of those failures.
    pub(super) suppressed: BTreeMap<String, String>,
    pub(super) suppressed_keys: BTreeSet<u64>,
    /// Unconfirmed conflicts: the two sites and the word, and what is reported.
    pub(super) conflicts: BTreeMap<((ModuleAddress, ModuleAddress), ModuleAddress), String>,
    /// Reorderings of delayed stores that could cause failures.
    pub(super) store_buffers: BTreeSet<String>,
    /// Failures that did not occur again when their schedules were run again.
    pub(super) unconfirmed: Vec<(Vec<u64>, Bug)>,
    /// How often something outside of the program ended a process, by the cause.
    pub(super) disturbances: BTreeMap<String, u64>,
    /// What the program's clients do.
    pub(super) clients: Vec<Client>,
    /// How often each branch was taken, if that is counted.
    pub(super) visits: Option<Visits>,
    /// Seconds that earlier runs of this search took.
    pub(super) earlier: f64,
    /// Whether the state could not be saved and the user was notified.
    #[serde(skip)]
    pub(super) unwritable: bool,
}

impl SearchState {
    pub(super) fn new(frontier: Frontier) -> SearchState {
        SearchState {
            frontier,
            round: Round::default(),
            rounds: 0,
            counts: Counts::default(),
            learning_steps: 0,
            learning_cut_at: None,
            distinct: Distinct::default(),
            bugs: Vec::new(),
            early: Vec::new(),
            unrecorded: Vec::new(),
            unsupported: Vec::new(),
            learned: Learned::default(),
            races: Vec::new(),
            left_held: Vec::new(),
            raced: BTreeSet::new(),
            raced_keys: BTreeSet::new(),
            suppressed: BTreeMap::new(),
            suppressed_keys: BTreeSet::new(),
            conflicts: BTreeMap::new(),
            store_buffers: BTreeSet::new(),
            unconfirmed: Vec::new(),
            disturbances: BTreeMap::new(),
            clients: Vec::new(),
            visits: None,
            earlier: 0.0,
            unwritable: false,
        }
    }
}

/// Everything that must be equal for a search to be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SearchIdentity {
    build: String,
    program: PathBuf,
    build_id: String,
    args: Vec<Vec<u8>>,
    strategy: String,
    seed: u64,
    bound: Option<u32>,
    max_steps: (u64, u64, u64),
    spurious: u32,
    reuse: u32,
    short_counts: u32,
    slack: Option<u64>,
    fail_on: Vec<u8>,
    points: String,
    scope: [Vec<String>; 3],
    client_commands: Vec<String>,
    begin_at: String,
    main_last: bool,
    when: [Vec<String>; 4],
    /// The prefix that every schedule of the search has.
    prefix: Vec<Choice>,
}

impl SearchIdentity {
    fn new(target: &Target, options: &SearchOptions) -> SearchIdentity {
        let bytes = |text: &std::ffi::OsString| text.as_encoded_bytes().to_vec();
        SearchIdentity {
            build: this_build().into(),
            program: target.program.clone(),
            build_id: target.build_id.clone(),
            args: target.args.iter().map(bytes).collect(),
            strategy: format!("{:?}", options.strategy),
            seed: options.seed,
            bound: options.bound,
            max_steps: (options.max_steps, options.most_steps, options.beginning),
            spurious: options.spurious,
            reuse: options.reuse,
            short_counts: options.short_counts,
            slack: options.slack,
            fail_on: options.fail_on.iter().map(|kind| kind.code()).collect(),
            points: options.points.name().into(),
            scope: [&options.atomic, &options.focus, &options.serial].map(Clone::clone),
            client_commands: options.client_commands.clone(),
            begin_at: options.begin_at.clone(),
            main_last: options.main_last,
            when: [&options.when, &options.always, &options.never, &options.through]
                .map(Clone::clone),
            prefix: options.prefix.clone(),
        }
    }

    /// Why a search with this identity cannot be resumed as `now`, if it cannot.
    fn differs(&self, now: &SearchIdentity) -> Option<String> {
        if self.build != now.build {
            return Some(format!(
                "another build of Heddle saved this search ({}; this is {}): resume it with that \
                 build, or search again without --resume",
                self.build, now.build
            ));
        }
        let differences = [
            (self.program != now.program, "it is a search of another program"),
            (
                self.build_id != now.build_id,
                "the program was rebuilt: search again without --resume, or restore the old build",
            ),
            (self.args != now.args, "it is a search of the program with other arguments"),
            (
                self.strategy != now.strategy || self.bound != now.bound || self.seed != now.seed,
                "it has another strategy, bound or seed: pass the same ones",
            ),
            (
                self.max_steps != now.max_steps
                    || self.spurious != now.spurious
                    || self.reuse != now.reuse
                    || self.short_counts != now.short_counts
                    || self.slack != now.slack
                    || self.fail_on != now.fail_on
                    || self.points != now.points
                    || self.scope != now.scope
                    || self.main_last != now.main_last
                    || self.client_commands != now.client_commands
                    || self.begin_at != now.begin_at
                    || self.when != now.when,
                "it has another --max-steps, --spurious, --reuse, --short-counts, --slack, --fail-on, \
                 --points, --atomic, --focus, --serial, --harness, --client, --begin-at, --when, --always or --never: \
                 pass the same ones",
            ),
            (
                self.prefix != now.prefix,
                "it started in the middle of a schedule and covers only what follows: start the \
                 search there, or search again without --resume",
            ),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what.to_owned())
    }
}

fn path(options: &SearchOptions) -> PathBuf {
    options.out.join(NAME)
}

/// Saves the state atomically. Returns the number of its bytes.
pub(super) fn save(
    saved: &SearchState,
    target: &Target,
    options: &SearchOptions,
) -> Result<u64, Error> {
    write(saved, &SearchIdentity::new(target, options), options)
}

fn write(
    saved: &SearchState,
    identity: &SearchIdentity,
    options: &SearchOptions,
) -> Result<u64, Error> {
    let (identity, state) = (compact::encode(identity), compact::encode(saved));
    let length = (identity.len() as u64).to_le_bytes();
    let written = sealed::write(&path(options), MAGIC, &[&length, &identity, &state]);
    written.map_err(|source| Error::System {
        what: format!("cannot save the state of the search in {}", options.out.display()),
        source,
    })?;
    Ok(state.len() as u64)
}

/// The identity and the state in the body of a file; both are encoded.
fn parts(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = body.split_first_chunk()?;
    rest.split_at_checked(u64::from_le_bytes(*length).try_into().ok()?)
}

/// Loads the state, if it belongs to the same search of the same program.
pub(super) fn load(target: &Target, options: &SearchOptions) -> Result<SearchState, Error> {
    let path = path(options);
    let bad = |what: &str| Error::File { path: path.clone(), what: what.to_owned() };
    let bytes = sealed::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => bad(
            "there is no search to resume here: name the output directory of a search that was \
                 stopped",
        ),
        _ => bad(&format!("it cannot be read: {error}")),
    })?;
    let damaged = || bad(&format!("{}: search again without --resume", sealed::DAMAGED));
    if !bytes.starts_with(MAGIC) {
        return Err(bad("it is not a saved search"));
    }
    let body = sealed::open(MAGIC, &bytes)
        .map_err(|why| bad(&format!("{why}: search again without --resume")))?;
    // The identity is encoded separately: it can be read even if the layout of the rest has changed.
    let other =
        || bad("another version of Heddle saved this search: search again without --resume");
    let (about, rest) = parts(body).ok_or_else(other)?;
    let about: SearchIdentity = compact::decode(about).map_err(|_| other())?;
    if let Some(what) = about.differs(&SearchIdentity::new(target, options)) {
        return Err(bad(&what));
    }
    compact::decode(rest).map_err(|_| damaged())
}

/// Deletes the state of a complete search.
pub(super) fn forget(options: &SearchOptions) {
    let _ = std::fs::remove_file(path(options));
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::TaskId;
    use traces::wire::Plan;

    fn target() -> Target {
        Target {
            program: "/bin/true".into(),
            name: "true".into(),
            args: Vec::new(),
            env: Vec::new(),
            unrecorded: std::collections::BTreeSet::new(),
            unread: std::collections::BTreeSet::new(),
            environment_use: traces::trace::EnvironmentUse::Unknown,
            cwd: "/".into(),
            files: crate::launch::WorkingFiles::default(),
            build_id: String::new(),
            notes: Vec::new(),
            prints_backtraces: false,
        }
    }

    fn state() -> SearchState {
        SearchState::new(Frontier::new(Plan::bounded("dpor", None)))
    }

    #[test]
    fn a_search_that_another_build_saved_is_not_resumed() {
        let directory = tempfile::tempdir().expect("a directory");
        let options =
            SearchOptions { out: directory.path().to_owned(), ..SearchOptions::default() };
        let this = SearchIdentity::new(&target(), &options);
        let same_version = format!("{}, build 0123456789abcdef", env!("CARGO_PKG_VERSION"));
        let other = SearchIdentity { build: same_version.clone(), ..this.clone() };
        write(&state(), &other, &options).expect("saved");
        let refused = load(&target(), &options).map(drop).expect_err("saved by another build");
        assert_eq!(
            refused.to_string(),
            format!(
                "{}: another build of Heddle saved this search ({same_version}; this is {}): resume it \
                 with that build, or search again without --resume",
                path(&options).display(),
                this.build
            )
        );
        write(&state(), &this, &options).expect("saved");
        assert!(load(&target(), &options).is_ok());
    }

    /// A search that the explorer started at a step covers only schedules with that prefix.
    #[test]
    fn a_search_from_a_prefix_is_not_resumed_as_a_search_of_all_schedules() {
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().to_owned();
        let target = target();
        let whole = SearchOptions { out, ..SearchOptions::default() };
        let part = SearchOptions { prefix: vec![Choice::Task(TaskId(1))], ..whole.clone() };
        save(&state(), &target, &part).expect("saved");
        let refused = load(&target, &whole).map(drop).expect_err("it covers less");
        assert_eq!(
            refused.to_string(),
            format!(
                "{}: it started in the middle of a schedule and covers only what follows: start the \
                 search there, or search again without --resume",
                path(&whole).display()
            )
        );
        assert!(load(&target, &part).is_ok());
    }

    #[test]
    fn a_state_that_cannot_be_written_or_has_another_layout_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let options =
            SearchOptions { out: directory.path().to_owned(), ..SearchOptions::default() };
        let file = path(&options);
        sealed::write(&file, MAGIC, &[&[1]]).expect("written");
        assert_eq!(
            load(&target(), &options).map(drop).expect_err("another layout").to_string(),
            format!(
                "{}: another version of Heddle saved this search: search again without --resume",
                file.display()
            )
        );
        let options = SearchOptions { out: "/dev/null/out".into(), ..SearchOptions::default() };
        let message = save(&state(), &target(), &options).map(drop).expect_err("no directory");
        let message = message.to_string();
        let expected = "cannot save the state of the search in /dev/null/out: ";
        assert!(message.starts_with(expected), "{message}");
    }
}

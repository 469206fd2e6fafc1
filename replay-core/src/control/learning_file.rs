//! Saves the learned points of a program beside its traces, so that later searches can skip the
//! learning phase.
//!
//! The file changes only the time a search takes. It is valid for the same program, arguments and
//! options, and the runtime uses it only if the first execution of the learning phase does the same
//! as when the file was saved. Failures and conflicts of the learning phase are saved with the
//! points and reported again.

use crate::launch::this_build;
use crate::store::sealed;
use crate::{SearchOptions, Target};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use traces::compact;
use traces::points::{Granularity, LearningResult};
use traces::wire::FoundFailure;

const MAGIC: &[u8; 8] = b"heddlel\x01";

/// The result of the learning phase.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Learning {
    pub(crate) result: LearningResult,
    /// Failures and conflicts of the learning phase.
    pub(crate) found: Vec<FoundFailure>,
}

impl Learning {
    /// The strategy part under which failures of the learning phase are reported.
    pub(crate) const PART: &'static str = "learning";

    /// Adds a failure of the learning phase, unless it is known.
    pub(crate) fn note(known: &mut Vec<FoundFailure>, found: &FoundFailure) {
        let same = |one: &FoundFailure| {
            (one.key, one.race.as_deref(), one.conflict.as_deref())
                == (found.key, found.race.as_deref(), found.conflict.as_deref())
        };
        if found.part != Learning::PART {
            return;
        }
        // The next search does not run its execution.
        let new = FoundFailure { execution: 0, ..found.clone() };
        match known.iter_mut().find(|one| same(one)) {
            // A conflict is reported again when its callers are known.
            Some(before) if found.conflict.is_some() => *before = new,
            Some(_) => {}
            None => known.push(new),
        }
    }
}

/// The builds of Heddle and of the program that the file is valid for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileIdentity {
    build: String,
    build_id: String,
}

impl FileIdentity {
    fn new(target: &Target) -> FileIdentity {
        FileIdentity { build: this_build().to_owned(), build_id: target.build_id.clone() }
    }
}

/// The file for this program and these options; none if this search uses no file.
pub(crate) fn path(target: &Target, options: &SearchOptions) -> Option<PathBuf> {
    let learns = options.points == Granularity::Racy
        && options.prefix.is_empty()
        && options.learned.is_empty()
        && !options.resume;
    if !learns {
        return None;
    }
    // Everything that an execution of the learning phase depends on.
    let SearchOptions { probing, max_steps, most_steps, beginning, max_memory, .. } = options;
    let SearchOptions { spurious, reuse, short_counts, slack, fail_on, .. } = options;
    let scope = (
        (&options.atomic, &options.focus, &options.serial, options.main_last),
        &options.predicates,
    );
    let steps = (max_steps, most_steps, beginning);
    let limits =
        (probing, steps, max_memory, (spurious, reuse, short_counts), slack, fail_on, scope);
    let own = (&target.program, &target.args, &target.cwd);
    let is_whole = options.clients.is_empty() && options.start_at.is_none();
    let circumstances = match is_whole {
        true => format!("{:?}", (own.0, own.1, own.2, limits)),
        false => format!("{:?}", (own, limits, &options.clients, options.start_at)),
    };
    let digest = blake3::hash(circumstances.as_bytes()).to_hex();
    let name = target.program.file_name()?.to_string_lossy().into_owned();
    Some(options.out.join(format!("{name}-{}.heddle-points", &digest[..8])))
}

/// Loads the file; none if it does not exist, an error text if it is unusable.
pub(crate) fn load(path: &Path, target: &Target) -> Result<Option<Learning>, String> {
    let useless = |why: &str| format!("{}: {why}: the learning phase runs again", path.display());
    let bytes = match sealed::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(useless(&format!("it cannot be read ({error})"))),
    };
    let body = sealed::open(MAGIC, &bytes).map_err(useless)?;
    let (about, rest): (FileIdentity, Vec<u8>) =
        compact::decode(body).map_err(|_| useless("another build of Heddle saved it"))?;
    let now = FileIdentity::new(target);
    if about.build != now.build {
        return Err(useless("another build of Heddle saved it"));
    }
    if about != now {
        return Err(useless("the program was rebuilt"));
    }
    let learning = compact::decode(&rest);
    learning.map(Some).map_err(|_| useless("another build of Heddle saved it"))
}

/// Saves the file atomically. A failure to save only costs time, and an unwritable directory is
/// reported when the first trace is saved.
pub(crate) fn save(path: &Path, target: &Target, learning: &Learning) {
    let body = compact::encode(&(FileIdentity::new(target), compact::encode(learning)));
    let _ = sealed::write(path, MAGIC, &[&body]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(build_id: &str) -> Target {
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
            build_id: build_id.to_owned(),
            notes: Vec::new(),
            prints_backtraces: false,
        }
    }

    #[test]
    fn a_file_of_another_build_or_a_damaged_one_is_not_used() {
        let directory = tempfile::tempdir().expect("a directory");
        let options =
            SearchOptions { out: directory.path().to_owned(), ..SearchOptions::default() };
        let target = target("one");
        let path = path(&target, &options).expect("this learns");
        let why = || load(&path, &target).map(drop).expect_err("it is of no use");
        assert!(load(&path, &target).expect("nothing is wrong").is_none(), "nothing is there");
        let result = LearningResult { first: 7, executions: 25, ..LearningResult::default() };
        save(&path, &target, &Learning { result: result.clone(), found: Vec::new() });
        let back = load(&path, &target).expect("it is whole").expect("it is there");
        assert_eq!(back.result, result);
        let other = self::target("two");
        let anew = load(&path, &other).map(drop).expect_err("it is of another build");
        assert!(anew.contains("was rebuilt"), "{anew}");
        let whole = std::fs::read(&path).expect("it is there");
        std::fs::write(&path, &whole[..whole.len() - 1]).expect("it can be written");
        assert!(why().contains("damaged"), "{}", why());
    }

    #[test]
    fn other_options_use_another_file() {
        let plain = SearchOptions::default();
        let other = SearchOptions { max_steps: 7, ..plain.clone() };
        let argued = Target { args: vec!["2".into()], ..target("one") };
        let one = path(&target("one"), &plain);
        assert_ne!(one, path(&target("one"), &other));
        assert_ne!(one, path(&argued, &plain));
        assert_eq!(one, path(&target("two"), &plain), "a new build takes the old one's place");
        let api = SearchOptions { points: Granularity::Api, ..plain };
        assert_eq!(path(&target("one"), &api), None);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_the_reason() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("points");
        let why = || load(&path, &target("a")).map(drop).expect_err("not usable");
        let again = ": the learning phase runs again";
        sealed::write(&path, MAGIC, &[&[1]]).expect("written");
        let other = format!("{}: another build of Heddle saved it{again}", path.display());
        assert_eq!(why(), other);
        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir(&path).expect("a directory");
        let unread = why();
        let begin = format!("{}: it cannot be read (", path.display());
        assert!(unread.starts_with(&begin) && unread.ends_with(again), "{unread}");
    }
}

//! What was learned of a program's accesses to memory before a search, kept beside its traces, so that it
//! need not be learned each time.
//!
//! Whether the file is there makes no difference but in time: it is of the same program, arguments and
//! options, and the runtime takes it over only after it saw the first execution of learning do what it did
//! then. Failures and conflicts that learning met are kept along, and told of again.

use crate::store::{self, sealed};
use crate::{SearchOptions, Target};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use traces::points::{Granularity, Lesson};
use traces::wire::Found;

const MAGIC: &[u8; 8] = b"heddlel\x01";
/// What the runtime of this build understands, and how it learns.
const BUILD: &str = env!("CARGO_PKG_VERSION");

/// What learning came to, with all that it told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Learning {
    pub(crate) lesson: Lesson,
    /// Failures and conflicts.
    pub(crate) found: Vec<Found>,
}

impl Learning {
    /// The part of a search that `found` names where learning met it.
    pub(crate) const PART: &'static str = "learning";

    /// Adds what learning met, unless it is there.
    pub(crate) fn note(known: &mut Vec<Found>, found: &Found) {
        let same = |one: &Found| {
            (one.key, one.race.as_deref(), one.conflict.as_deref())
                == (found.key, found.race.as_deref(), found.conflict.as_deref())
        };
        if found.part == Learning::PART && !known.iter().any(same) {
            known.push(found.clone());
        }
    }
}

/// Which program it is of.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    build: String,
    build_id: String,
}

impl About {
    fn new(target: &Target) -> About {
        About { build: BUILD.to_owned(), build_id: target.build_id.clone() }
    }
}

/// Where what is learned under these circumstances is kept, if it is.
pub(crate) fn path(target: &Target, options: &SearchOptions) -> Option<PathBuf> {
    let learns = options.points == Granularity::Racy
        && options.prefix.is_empty()
        && options.learned.is_empty()
        && !options.resume;
    if !learns {
        return None;
    }
    // All that an execution of learning depends on.
    let SearchOptions { probing, max_steps, max_memory, spurious, fail_on, .. } = options;
    let scope = (&options.atomic, &options.focus);
    let limits = (probing, max_steps, max_memory, spurious, fail_on, scope);
    let circumstances = format!("{:?}", (&target.program, &target.args, &target.cwd, limits));
    let digest = blake3::hash(circumstances.as_bytes()).to_hex();
    let name = target.program.file_name()?.to_string_lossy().into_owned();
    Some(options.out.join(format!("{name}-{}.heddle-points", &digest[..8])))
}

/// What is kept there; the second is why it is of no use, where it is there.
pub(crate) fn load(path: &Path, target: &Target) -> Result<Option<Learning>, String> {
    let useless = |why: &str| format!("{}: {why}: learned anew", path.display());
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(useless(&format!("it cannot be read ({error})"))),
    };
    let body = sealed::open(MAGIC, &bytes)
        .ok_or_else(|| useless("it is damaged, or was not written to its end"))?;
    let (about, rest): (About, Vec<u8>) =
        rmp_serde::from_slice(body).map_err(|_| useless("another version of Heddle wrote it"))?;
    let now = About::new(target);
    if about.build != now.build {
        return Err(useless("another version of Heddle wrote it"));
    }
    if about != now {
        return Err(useless("the program was built anew since"));
    }
    let learning = rmp_serde::from_slice(&rest);
    learning.map(Some).map_err(|_| useless("another version of Heddle wrote it"))
}

/// Keeps it there, whole or not at all. That it cannot be kept costs time only: the traces' directory is
/// one that whoever wants them will hear of.
pub(crate) fn save(path: &Path, target: &Target, learning: &Learning) {
    let rest = rmp_serde::to_vec(learning);
    let body = rest.and_then(|rest| rmp_serde::to_vec(&(About::new(target), rest)));
    if let Ok(body) = body {
        let _ = store::write(path, &sealed::seal(MAGIC, &body));
    }
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
            cwd: "/".into(),
            build_id: build_id.to_owned(),
        }
    }

    #[test]
    fn what_is_kept_is_of_one_build_and_whole() {
        let directory = tempfile::tempdir().expect("a directory");
        let options =
            SearchOptions { out: directory.path().to_owned(), ..SearchOptions::default() };
        let target = target("one");
        let path = path(&target, &options).expect("this learns");
        let why = || load(&path, &target).map(drop).expect_err("it is of no use");
        assert!(load(&path, &target).expect("nothing is wrong").is_none(), "nothing is there");
        let lesson = Lesson { first: 7, executions: 25, ..Lesson::default() };
        save(&path, &target, &Learning { lesson: lesson.clone(), found: Vec::new() });
        let back = load(&path, &target).expect("it is whole").expect("it is there");
        assert_eq!(back.lesson, lesson);
        let other = self::target("two");
        let anew = load(&path, &other).map(drop).expect_err("it is of another build");
        assert!(anew.contains("built anew since"), "{anew}");
        let whole = std::fs::read(&path).expect("it is there");
        std::fs::write(&path, &whole[..whole.len() - 1]).expect("it can be written");
        assert!(why().contains("damaged"), "{}", why());
    }

    #[test]
    fn other_circumstances_have_a_file_of_their_own() {
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
}

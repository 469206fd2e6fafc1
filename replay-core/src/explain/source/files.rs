//! Finds and caches source files.

use super::{Language, Source};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use traces::Trace;
use traces::trace::Header;

/// Larger files are not read.
const LARGEST: u64 = 8 << 20;

/// Why there is no source for a code location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// There is no line information: the program was built without `-g`, or was stripped.
    NoLines,
    /// The file does not exist or cannot be shown.
    NoFile(String),
}

/// The source files of a program, each read once.
#[derive(Debug)]
pub struct Sources {
    /// Directories for relative names: the working directory, then the program's directory, because
    /// programs are often built beside their sources.
    directories: [PathBuf; 2],
    built: Option<SystemTime>,
    files: HashMap<String, Option<Arc<Source>>>,
}

impl Sources {
    /// The sources of a trace's program.
    #[must_use]
    pub fn of(header: &Header) -> Sources {
        let about = std::fs::metadata(&header.program).ok();
        Sources {
            directories: [
                PathBuf::from(&header.cwd),
                Path::new(&header.program).parent().unwrap_or(Path::new("/")).to_owned(),
            ],
            built: about.and_then(|about| about.modified().ok()),
            files: HashMap::new(),
        }
    }

    /// A file, by its name in the debug information.
    ///
    /// # Errors
    /// [`Missing`], with the reason.
    pub fn get(&mut self, file: &str) -> Result<Arc<Source>, Missing> {
        if file.is_empty() {
            return Err(Missing::NoLines);
        }
        let (directories, built) = (&self.directories, self.built);
        let found = self.files.entry(file.to_owned()).or_insert_with(|| {
            let mut found = directories.iter().map(|directory| read(&directory.join(file), built));
            found.find_map(|source| source)
        });
        found.clone().ok_or_else(|| Missing::NoFile(file.to_owned()))
    }

    /// Every existing file that a trace refers to, by its name in the debug information; and the
    /// names of those that were modified after the program was built.
    #[must_use]
    pub fn all(trace: &Trace) -> (HashMap<String, Arc<Source>>, Vec<String>) {
        let mut files = Sources::of(&trace.header);
        let mut found = HashMap::new();
        let places = trace.execution.places.iter().flat_map(|(_, frames)| frames);
        let stacks = trace.failure.iter().flat_map(|failure| &failure.stacks);
        for frame in places.chain(stacks.flat_map(|stack| &stack.frames)) {
            if let Ok(source) = files.get(&frame.file) {
                found.insert(frame.file.clone(), source);
            }
        }
        let newer = files.newer().into_iter().map(str::to_owned).collect();
        (found, newer)
    }

    /// The requested files that were modified after the program was built: their lines may have
    /// moved.
    #[must_use]
    pub fn newer(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .files
            .iter()
            .filter(|(_, file)| file.as_ref().is_some_and(|file| file.newer))
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        names
    }
}

/// Identifies a version of a file: path, modification time, and whether it is newer than the
/// program.
type Version = (PathBuf, Option<SystemTime>, bool);

/// Parsed files: a file that is needed for many executions is parsed once.
static UNDERSTOOD: Mutex<BTreeMap<Version, Arc<Source>>> = Mutex::new(BTreeMap::new());

fn read(path: &Path, built: Option<SystemTime>) -> Option<Arc<Source>> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    let changed = about.modified().ok();
    let newer = changed.zip(built).is_some_and(|(changed, built)| changed > built);
    let key = (path.to_owned(), changed, newer);
    let understood = || UNDERSTOOD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(source) = understood().get(&key) {
        return Some(source.clone());
    }
    let mut source = Source::of(&std::fs::read(path).ok()?, Language::of(path));
    source.newer = newer;
    let source = Arc::new(source);
    understood().insert(key, source.clone());
    Some(source)
}

//! Everything that another machine needs to run a search: the program, its libraries and inputs, the
//! instructions to the runtime, and recordings of executions that must be the same there.

use replay_core::pieces::{Message, SearchOrder};
use replay_core::{
    Collector, Error, Observer, Replayed, SearchOptions, StrategyChoice, Target, WorkingFiles,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use traces::Trace;
use traces::trace::{EnvironmentUse, UNREAD};
use traces::wire::{FilePolicy, Job, RuntimeMessage};

/// A file that travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Carried {
    /// The path on the machine of the collector; of an input, below its working directory.
    path: Vec<u8>,
    bytes: Vec<u8>,
    /// Whether it can be executed.
    executable: bool,
}

impl Carried {
    fn read(path: &Path, name: &Path) -> Result<Carried, Error> {
        let failed = |error: std::io::Error| {
            let what = format!("it cannot be read to be sent to workers: {error}");
            Error::File { path: path.to_owned(), what }
        };
        let bytes = fs::read(path).map_err(failed)?;
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        let path = name.as_os_str().as_bytes().to_vec();
        Ok(Carried { path, bytes, executable: mode & 0o111 != 0 })
    }

    fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    fn write(&self, to: &Path) -> Result<(), Error> {
        let write = || {
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(to, &self.bytes)?;
            let mode = if self.executable { 0o700 } else { 0o600 };
            fs::set_permissions(to, fs::Permissions::from_mode(mode))
        };
        write().map_err(Error::system(format!("cannot write {}", to.display())))
    }
}

/// See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Bundle {
    program: Carried,
    /// The path by which executions name the program: without symbolic links.
    loaded: String,
    build_id: String,
    name: Vec<u8>,
    args: Vec<Vec<u8>>,
    env: Vec<(Vec<u8>, Vec<u8>)>,
    libraries: Vec<Carried>,
    inputs: Vec<Carried>,
    job: Job,
    spin_after: Duration,
    /// For a substitute of the collector.
    options: SearchOptions,
    /// Which files executions see in the working directory.
    files: u32,
    /// Recorded executions, as bytes of trace files.
    recordings: Vec<Vec<u8>>,
}

/// The libraries that belong to the loader, which cannot be that of another machine.
const LOADERS: [&str; 8] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libutil.so.1",
];

/// The seeds of the random schedules that are recorded, besides the one without preemptions.
const SEEDS: [u64; 2] = [1, 2];

impl Bundle {
    /// Packs what the search needs. Runs a few executions to record them.
    pub(crate) fn new(
        order: &SearchOrder<'_>,
        inputs: &[PathBuf],
        observer: &mut dyn Observer,
    ) -> Result<Bundle, Error> {
        let SearchOrder { target, options, interrupt, .. } = *order;
        let recordings = record(target, options, interrupt, observer)?;
        let first = recordings.first();
        let modules = first.map(|trace| trace.execution.modules.as_slice()).unwrap_or_default();
        let mut libraries = Vec::new();
        for module in modules.iter().skip(1) {
            let path = target.cwd.join(&module.path);
            // The kernel's page of calls is a module without a file.
            if path.is_file() {
                libraries.push(Carried::read(&path, Path::new(&module.path))?);
            }
        }
        let read_input = |path: &PathBuf| input(&target.cwd, path);
        let bytes = |text: &OsString| text.as_bytes().to_vec();
        let loaded = modules.first().map(|program| program.path.clone());
        Ok(Bundle {
            program: Carried::read(&target.program, &target.program)?,
            loaded: loaded.unwrap_or_else(|| target.program.to_string_lossy().into_owned()),
            build_id: target.build_id.clone(),
            name: bytes(&target.name),
            args: target.args.iter().map(bytes).collect(),
            env: environment(target, first),
            libraries,
            inputs: inputs.iter().map(read_input).collect::<Result<_, _>>()?,
            job: order.job.clone(),
            spin_after: order.spin_after,
            options: portable(options),
            files: target.files.policy().code(),
            recordings: recordings.iter().map(|trace| traces::file::encode(trace, None)).collect(),
        })
    }

    /// Places the files in a directory: of the libraries those that this machine does not have.
    ///
    /// # Errors
    /// If a file cannot be written, or this machine has another C library.
    pub(crate) fn unpack(self, directory: &Path) -> Result<Unpacked, Error> {
        // Executions name files by their paths without symbolic links.
        let directory = &fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let file = self.program.path().file_name().unwrap_or_else(|| OsStr::new("program"));
        let program = directory.join("program").join(file);
        self.program.write(&program)?;
        let cwd = directory.join("inputs");
        fs::create_dir_all(&cwd)
            .map_err(Error::system(format!("cannot create {}", cwd.display())))?;
        for input in &self.inputs {
            // The bundle may come from anyone who can write to the server.
            if input.path().components().all(|part| matches!(part, Component::Normal(_))) {
                input.write(&cwd.join(input.path()))?;
            }
        }
        let mut moved = BTreeMap::new();
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        moved.insert(self.loaded, shown(&program));
        let libraries = directory.join("libraries");
        for library in &self.libraries {
            let path = library.path();
            match fs::read(path) {
                Ok(own) if own == library.bytes => continue,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Error::File {
                        path: path.to_owned(),
                        what: format!("this library of the program cannot be read: {error}"),
                    });
                }
            }
            let name = path.file_name().unwrap_or_default();
            if LOADERS.iter().any(|loader| name == *loader) {
                return Err(Error::Target(format!(
                    "{} differs from that of the machine that started the search: use the same \
                     distribution and release on every machine, for instance the same container image",
                    path.display()
                )));
            }
            let to = libraries.join(name);
            library.write(&to)?;
            moved.insert(shown(path), shown(&to));
        }
        let text = |bytes: Vec<u8>| OsString::from_vec(bytes);
        let target = Target {
            program,
            name: text(self.name),
            args: self.args.into_iter().map(text).collect(),
            env: self.env.into_iter().map(|(name, value)| (text(name), text(value))).collect(),
            unrecorded: BTreeSet::new(),
            unread: BTreeSet::new(),
            environment_use: EnvironmentUse::Unknown,
            cwd,
            files: WorkingFiles::new(file_policy(self.files)),
            build_id: self.build_id,
            notes: Vec::new(),
            prints_backtraces: false,
        };
        Ok(Unpacked {
            target,
            job: self.job,
            spin_after: self.spin_after,
            options: self.options,
            program: self.program.path().to_owned(),
            libraries: (moved.len() > 1).then_some(libraries),
            recordings: self.recordings,
            moved,
        })
    }
}

/// A bundle on the machine of a worker.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) target: Target,
    pub(crate) job: Job,
    pub(crate) spin_after: Duration,
    pub(crate) options: SearchOptions,
    /// The path of the program on the machine of the collector.
    pub(crate) program: PathBuf,
    /// The directory of the libraries that this machine does not have.
    pub(crate) libraries: Option<PathBuf>,
    recordings: Vec<Vec<u8>>,
    /// Paths on the machine of the collector, and the paths of the same files here.
    moved: BTreeMap<String, String>,
}

impl Unpacked {
    /// Runs the recorded executions. Returns why this machine cannot run the search, if one of them
    /// differs.
    pub(crate) fn difference(
        &self,
        interrupt: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Option<String>, Error> {
        for bytes in &self.recordings {
            let decoded = traces::file::decode(bytes).map_err(|error| {
                Error::Runtime(format!("a recording that came with the program: {error}"))
            })?;
            let mut trace = decoded.trace;
            for module in &mut trace.execution.modules {
                if let Some(here) = self.moved.get(&module.path) {
                    module.path.clone_from(here);
                }
            }
            let replayed = replay_core::replay(&trace, &self.target, 1, interrupt, observer)?;
            if let Replayed::Diverged { step, what, .. } = replayed {
                return Ok(Some(differs_here(step, &what)));
            }
        }
        Ok(None)
    }

    /// The message with the paths that files have on the machine of the collector.
    pub(crate) fn translate(&self, message: Message) -> Message {
        match message {
            Message::FromRuntime(piece, RuntimeMessage::Found(mut found)) => {
                for (path, _) in &mut found.places {
                    if let Some(original) = self.original(path) {
                        *path = original.to_owned();
                    }
                }
                Message::FromRuntime(piece, RuntimeMessage::Found(found))
            }
            message => message,
        }
    }

    /// The path on the machine of the collector of a file of this machine.
    fn original(&self, path: &str) -> Option<&str> {
        let mut pairs = self.moved.iter();
        pairs.find(|(_, here)| *here == path).map(|(there, _)| there.as_str())
    }
}

/// A file of the working directory that the program reads.
fn input(directory: &Path, path: &Path) -> Result<Carried, Error> {
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    match is_inside {
        true => Carried::read(&directory.join(path), path),
        false => Err(Error::Usage(format!(
            "--cluster-input {}: name a file below the working directory, without ..",
            path.display()
        ))),
    }
}

/// The options without what belongs to one machine, or to one collector of several.
fn portable(options: &SearchOptions) -> SearchOptions {
    SearchOptions {
        out: PathBuf::new(),
        workers: 1,
        resume: false,
        collector: Collector::Substitute,
        ..options.clone()
    }
}

/// The policy with this code.
fn file_policy(code: u32) -> FilePolicy {
    let all = [FilePolicy::Shared, FilePolicy::Hold, FilePolicy::Private, FilePolicy::Unrestored];
    all.into_iter().find(|policy| policy.code() == code).unwrap_or(FilePolicy::Hold)
}

/// The difference, without the general advice that follows it.
fn first_sentence(text: &str) -> &str {
    text.split(". Something outside").next().unwrap_or(text)
}

/// Why this machine cannot run the search: a recorded execution differs.
fn differs_here(step: u64, what: &str) -> String {
    format!(
        "an execution differs here from that on the machine that started the search, at step {step}: {}",
        first_sentence(what)
    )
}

/// Why machines cannot share a search: an execution differs even on this machine.
fn not_repeated(program: &Path, what: &str) -> String {
    format!(
        "{}: an execution cannot be repeated, so that machines cannot share the search: {}",
        program.display(),
        first_sentence(what)
    )
}

/// Records a few executions, unless the program does not repeat them even on this machine.
fn record(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Vec<Trace>, Error> {
    let plain = SearchOptions { prefix: Vec::new(), bound: None, ..options.clone() };
    let strategies = std::iter::once((StrategyChoice::NON_PREEMPTIVE, 0))
        .chain(SEEDS.into_iter().map(|seed| (StrategyChoice::RANDOM, seed)));
    let mut recordings = Vec::new();
    for (strategy, seed) in strategies {
        let options = SearchOptions { strategy, seed, ..plain.clone() };
        let trace = replay_core::run(target, &options, interrupt)?;
        match replay_core::replay(&trace, target, 1, interrupt, observer)? {
            Replayed::Same { .. } => recordings.push(trace),
            Replayed::Diverged { what, .. } => {
                return Err(Error::Target(not_repeated(&target.program, &what)));
            }
        }
    }
    Ok(recordings)
}

/// The environment for other machines: variables that may be secrets, and those that the program does
/// not read, keep their length only, on which addresses depend.
fn environment(target: &Target, first: Option<&Trace>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let header = first.map(|trace| &trace.header);
    let hidden = |name: &[u8]| {
        header.is_some_and(|header| {
            let named = |names: &[String]| names.iter().any(|one| one.as_bytes() == name);
            named(&header.left_out) || named(&header.unread)
        })
    };
    let variable = |(name, value): &(OsString, OsString)| {
        let (name, mut value) = (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        if hidden(&name) {
            value.fill(UNREAD);
        }
        (name, value)
    };
    target.env.iter().map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(path: &str, bytes: &[u8]) -> Carried {
        Carried { path: path.as_bytes().to_vec(), bytes: bytes.to_vec(), executable: false }
    }

    fn bundle(libraries: Vec<Carried>, inputs: Vec<Carried>) -> Bundle {
        let program = Carried { executable: true, ..carried("/home/user/bank", b"ELF") };
        let options = SearchOptions::default();
        let job = replay_core::pieces::job_of(&options);
        Bundle {
            program,
            loaded: "/home/user/bank".into(),
            build_id: "12".into(),
            name: b"./bank".to_vec(),
            args: Vec::new(),
            env: Vec::new(),
            libraries,
            inputs,
            job,
            spin_after: Duration::from_secs(2),
            options,
            files: FilePolicy::Shared.code(),
            recordings: Vec::new(),
        }
    }

    #[test]
    fn files_are_placed_below_the_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let inputs =
            vec![carried("data/a.txt", b"a"), carried("../out", b"evil"), carried("/x", b"")];
        let library = carried("/opt/none/libmine.so.1", b"code");
        let unpacked = bundle(vec![library], inputs).unpack(directory.path()).expect("unpacked");
        let read = |path: &str| fs::read(directory.path().join(path)).ok();
        assert_eq!(read("inputs/data/a.txt"), Some(b"a".to_vec()));
        assert_eq!(read("out"), None);
        assert_eq!(read("libraries/libmine.so.1"), Some(b"code".to_vec()));
        assert_eq!(unpacked.libraries, Some(directory.path().join("libraries")));
        let here = directory.path().join("libraries/libmine.so.1").to_string_lossy().into_owned();
        assert_eq!(unpacked.original(&here), Some("/opt/none/libmine.so.1"));
        assert_eq!(unpacked.target.name, "./bank");
    }

    #[test]
    fn another_libc_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let libc = directory.path().join("libc.so.6");
        fs::write(&libc, "ours").expect("written");
        let theirs = carried(&libc.to_string_lossy(), b"theirs");
        let refused = bundle(vec![theirs], Vec::new()).unpack(directory.path());
        let why = refused.map(drop).expect_err("another libc").to_string();
        assert_eq!(
            why,
            format!(
                "{} differs from that of the machine that started the search: use the same distribution \
                 and release on every machine, for instance the same container image",
                libc.display()
            )
        );
        let same = carried(&libc.to_string_lossy(), b"ours");
        assert!(bundle(vec![same], Vec::new()).unpack(directory.path()).is_ok());
    }

    #[test]
    fn files_that_cannot_be_sent_are_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let refused = |path: &str| {
            input(directory.path(), Path::new(path)).map(drop).expect_err(path).to_string()
        };
        for outside in ["../data", "/etc/passwd", "a/../../b"] {
            assert_eq!(
                refused(outside),
                format!(
                    "--cluster-input {outside}: name a file below the working directory, without .."
                )
            );
        }
        let missing = refused("none");
        assert!(missing.contains("/none: it cannot be read to be sent to workers: "), "{missing}");
        // A library that exists on this machine, but is no file.
        let folder = carried(&directory.path().to_string_lossy(), b"code");
        let scratch = tempfile::tempdir().expect("a directory");
        let why = bundle(vec![folder], Vec::new()).unpack(scratch.path()).map(drop);
        let why = why.expect_err("a directory").to_string();
        assert!(why.contains(": this library of the program cannot be read: "), "{why}");
    }

    #[test]
    fn a_damaged_recording_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut bundle = bundle(Vec::new(), Vec::new());
        bundle.recordings = vec![b"no trace".to_vec()];
        let unpacked = bundle.unpack(directory.path()).expect("unpacked");
        let why = unpacked.difference(&AtomicBool::new(false), &mut crate::quiet::Quiet);
        let why = why.map(drop).expect_err("no trace").to_string();
        assert!(why.starts_with("a recording that came with the program: "), "{why}");
    }

    #[test]
    fn executions_that_differ_are_described_without_general_advice() {
        let what = "T1 reads x instead of y. Something outside of the schedule has changed: a file";
        assert_eq!(
            differs_here(7, what),
            "an execution differs here from that on the machine that started the search, at step 7: T1 \
             reads x instead of y"
        );
        assert_eq!(
            not_repeated(Path::new("./bank"), what),
            "./bank: an execution cannot be repeated, so that machines cannot share the search: T1 reads x \
             instead of y"
        );
    }
}

//! What the server keeps of a search so that it can be continued: the claim of the collector, the state, the
//! traces.

use crate::protocol::{RENEWAL, state_object, trace_object};
use crate::server::Server;
use async_nats::jetstream::kv;
use replay_core::Error;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The name of the saved state in the directory of the traces.
const STATE: &str = "search.heddle-state";
/// How the claim of a substitute of a collector begins.
const SUBSTITUTE: &str = "a substitute";
/// A claim that was not renewed for this long is that of a dead collector.
const DEAD: Duration = Duration::from_secs(4);

/// See the module documentation.
pub(crate) struct Stored<'a> {
    server: &'a Server,
    name: &'a str,
    out: PathBuf,
    /// Who claims the name.
    owner: String,
    began: SystemTime,
    claims: kv::Store,
    uploaded: Mutex<Uploaded>,
}

#[derive(Default)]
struct Uploaded {
    /// The revision of the claim.
    revision: u64,
    /// The digest of the state at the server.
    state: Option<blake3::Hash>,
    traces: BTreeSet<PathBuf>,
}

impl<'a> Stored<'a> {
    /// Claims the name of a search. Waits until it is certain that the last collector of the search is
    /// gone, if there was one.
    pub(crate) fn claim(
        server: &'a Server,
        name: &'a str,
        out: &Path,
    ) -> Result<Stored<'a>, Error> {
        let stored = Stored::new(server, name, out, this_process())?;
        let revision = stored.take()?;
        stored.uploaded().revision = revision;
        Ok(stored)
    }

    /// Claims the name of a search for a substitute of the collector; none if there is a
    /// claim.
    pub(crate) fn substitute(
        server: &'a Server,
        name: &'a str,
        out: &Path,
    ) -> Result<Option<Stored<'a>>, Error> {
        let owner = format!("{SUBSTITUTE}, {}", this_process());
        let stored = Stored::new(server, name, out, owner)?;
        let Some(revision) = stored.create() else { return Ok(None) };
        stored.uploaded().revision = revision;
        Ok(Some(stored))
    }

    /// Whether a collector, or its substitute, has the search. If the server does not
    /// answer, one may have it.
    pub(crate) fn is_claimed(server: &Server, name: &str) -> Result<bool, Error> {
        let claims = server.collectors()?;
        let entry = server.wait(async { claims.get(name).await });
        Ok(!matches!(entry, Some(Ok(None))))
    }

    /// The process that claims the search, if there is one.
    pub(crate) fn owner(server: &Server, name: &str) -> Option<String> {
        let claims = server.collectors().ok()?;
        let owner = server.wait(async { claims.get(name).await })?.ok()??;
        Some(String::from_utf8_lossy(&owner).into_owned())
    }

    fn new(
        server: &'a Server,
        name: &'a str,
        out: &Path,
        owner: String,
    ) -> Result<Stored<'a>, Error> {
        Ok(Stored {
            server,
            name,
            out: out.to_owned(),
            owner,
            began: SystemTime::now(),
            claims: server.collectors()?,
            uploaded: Mutex::default(),
        })
    }

    fn uploaded(&self) -> MutexGuard<'_, Uploaded> {
        self.uploaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the name if there is no claim. Returns the revision.
    fn create(&self) -> Option<u64> {
        let owner = self.owner.clone();
        self.server.wait(async { self.claims.create(self.name, owner.into()).await })?.ok()
    }

    fn update(&self, revision: u64) -> Option<u64> {
        let owner = self.owner.clone();
        let updated =
            self.server.wait(async { self.claims.update(self.name, owner.into(), revision).await });
        updated?.ok()
    }

    fn take(&self) -> Result<u64, Error> {
        let began = Instant::now();
        let mut first = None;
        loop {
            if let Some(revision) = self.create() {
                return Ok(revision);
            }
            let entry = self.server.wait(async { self.claims.entry(self.name).await });
            if let Some(Ok(Some(entry))) = entry {
                let revision = *first.get_or_insert(entry.revision);
                let by = String::from_utf8_lossy(&entry.value).into_owned();
                if by.starts_with(SUBSTITUTE)
                    && let Some(revision) = self.update(entry.revision)
                {
                    // It notices when it renews its claim.
                    std::thread::sleep(RENEWAL * 2);
                    return Ok(self.update(revision).unwrap_or(revision));
                }
                if revision != entry.revision {
                    return Err(running(self.name, &self.server.address, &by));
                }
                if began.elapsed() > DEAD {
                    if let Some(revision) = self.update(revision) {
                        return Ok(revision);
                    }
                    first = None;
                }
            }
            if began.elapsed() > DEAD * 5 {
                return Err(not_claimed(self.name, &self.server.address));
            }
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Renews the claim.
    ///
    /// # Errors
    /// If another collector has taken the search.
    pub(crate) fn renew(&self) -> Result<(), Error> {
        let revision = self.uploaded().revision;
        if let Some(revision) = self.update(revision) {
            self.uploaded().revision = revision;
            return Ok(());
        }
        let entry = self.server.wait(async { self.claims.entry(self.name).await });
        match entry {
            Some(Ok(Some(entry))) if entry.value != self.owner.as_bytes() => {
                let by = String::from_utf8_lossy(&entry.value).into_owned();
                Err(taken_over(self.name, &by))
            }
            Some(Ok(Some(entry))) => {
                self.uploaded().revision = entry.revision;
                Ok(())
            }
            // The claim expired while the server or this process was away.
            Some(Ok(None)) => {
                if let Some(revision) = self.create() {
                    self.uploaded().revision = revision;
                }
                Ok(())
            }
            // The server is away. Whatever waits for it knows for how long.
            _ => Ok(()),
        }
    }

    /// Gives up the claim.
    pub(crate) fn release(&self) {
        let revision = self.uploaded().revision;
        let _ = self
            .server
            .wait(async { self.claims.delete_expect_revision(self.name, Some(revision)).await });
    }

    /// Sends the state and new traces to the server, if they have changed. A failure is no error: the
    /// files are here, and the next call tries again.
    pub(crate) fn store(&self) {
        if let Ok(state) = fs::read(self.out.join(STATE)) {
            let digest = blake3::hash(&state);
            let is_new = self.uploaded().state != Some(digest);
            if is_new && self.server.put_object(&state_object(self.name), &state).is_ok() {
                self.uploaded().state = Some(digest);
            }
        }
        for path in self.new_traces() {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(bytes) = fs::read(&path) else { continue };
            if self.server.put_object(&trace_object(self.name, &file), &bytes).is_ok() {
                self.uploaded().traces.insert(path);
            }
        }
    }

    /// The traces that were written since the search began.
    fn new_traces(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.out).into_iter().flatten().flatten();
        let uploaded = self.uploaded();
        let is_new = |entry: &fs::DirEntry| {
            let written = entry.metadata().and_then(|about| about.modified());
            let path = entry.path();
            path.extension().is_some_and(|extension| extension == "heddle")
                && written.is_ok_and(|written| written >= self.began)
                && !uploaded.traces.contains(&path)
        };
        entries.filter(is_new).map(|entry| entry.path()).collect()
    }

    /// Copies the state of the search and its traces from the server. Returns whether there is a state.
    pub(crate) fn fetch(&self) -> Result<bool, Error> {
        copy_traces(self.server, self.name, &self.out)?;
        self.fetch_state()
    }

    /// Whether the output directory has a state that was saved since the search was announced, at this time
    /// in seconds since 1970.
    pub(crate) fn is_here_since(&self, announced: u64) -> bool {
        let saved = fs::metadata(self.out.join(STATE)).and_then(|about| about.modified());
        saved.is_ok_and(|saved| saved >= UNIX_EPOCH + Duration::from_secs(announced))
    }

    /// Copies the state of the search from the server. Returns whether there is one.
    pub(crate) fn fetch_state(&self) -> Result<bool, Error> {
        let Some(state) = self.server.object(&state_object(self.name))? else { return Ok(false) };
        write(&self.out, STATE, &state)?;
        Ok(true)
    }
}

fn this_process() -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    format!("process {} on {}", std::process::id(), host.to_string_lossy())
}

/// Copies the traces of a search from the server into a directory. Returns their paths.
pub(crate) fn copy_traces(server: &Server, name: &str, out: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut copied = Vec::new();
    for object in server.object_names()? {
        let Some(file) = object.strip_prefix(&trace_object(name, "")) else { continue };
        // The name comes from the server.
        if file.contains('/') || !file.ends_with(".heddle") {
            continue;
        }
        let Some(bytes) = server.object(&object)? else { continue };
        write(out, file, &bytes)?;
        copied.push(out.join(file));
    }
    copied.sort();
    Ok(copied)
}

/// Removes what the server keeps of a search.
pub(crate) fn remove(server: &Server, name: &str, with_traces: bool) -> Result<(), Error> {
    server.remove_streams(name);
    server.remove_object(&state_object(name));
    if with_traces {
        for object in server.object_names()? {
            if object.starts_with(&trace_object(name, "")) {
                server.remove_object(&object);
            }
        }
    }
    Ok(())
}

fn write(out: &Path, file: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = out.join(file);
    fs::create_dir_all(out)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(Error::system(format!("cannot write {}", path.display())))
}

/// The error if a server does not answer whether a name is free.
fn not_claimed(name: &str, address: &str) -> Error {
    Error::Runtime(format!(
        "the name {name} cannot be claimed at {address}: the server does not answer"
    ))
}

/// The error if another collector, or its substitute, has the search now.
fn taken_over(name: &str, by: &str) -> Error {
    Error::Runtime(format!(
        "{by} continues the search {name}: this collector was away for too long"
    ))
}

/// The error if the search of this name is running.
fn running(name: &str, address: &str, by: &str) -> Error {
    Error::Usage(format!(
        "the search {name} is running at {address}, started by {by}: choose another --cluster-name, or \
         end it (heddle cluster cancel)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_free_is_refused() {
        for (error, message) in [
            (
                not_claimed("bank", "one:4222"),
                "the name bank cannot be claimed at one:4222: the server does not answer",
            ),
            (
                taken_over("bank", "process 9 on ci"),
                "process 9 on ci continues the search bank: this collector was away for too long",
            ),
            (
                running("bank", "one:4222", "process 9 on ci"),
                "the search bank is running at one:4222, started by process 9 on ci: choose another \
                 --cluster-name, or end it (heddle cluster cancel)",
            ),
        ] {
            assert_eq!(error.to_string(), message);
        }
    }
}

//! A machine continues the search whose pieces it runs while there is no collector: it merges results and
//! gives out the pieces of the next rounds. It believes no failure: the collector that returns runs the
//! schedules again, on its own machine.

use crate::announcements::{announced, finish};
use crate::bundle::Unpacked;
use crate::collector::{Listener, RemotePool};
use crate::divided::DividedPool;
use crate::machines::Change;
use crate::protocol::{Announcement, State};
use crate::quiet::Quiet;
use crate::server::Server;
use crate::stored::Stored;
use replay_core::scratch::Scratch;
use replay_core::{Collector, Error, SearchOptions, Target, WorkerPool};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::Job;

/// Messages are for a collector.
struct Unheard;

impl Listener for Unheard {
    fn machine(&self, _: &Change) {}

    fn note(&self, _: &str) {}
}

/// Continues the search if it has no collector, until one returns, the search ends, or `leave` is set.
/// Returns whether this machine was the substitute.
pub(crate) fn attempt(
    server: &Server,
    announcement: &Announcement,
    unpacked: &Unpacked,
    leave: &AtomicBool,
) -> Result<bool, Error> {
    let name = announcement.name.as_str();
    if Stored::is_claimed(server, name)? {
        return Ok(false);
    }
    let scratch = Scratch::new().map_err(Error::system("cannot create a directory"))?;
    let Some(stored) = Stored::substitute(server, name, scratch.path())? else { return Ok(false) };
    let substituted =
        continue_search(server, announcement, unpacked, leave, &stored, scratch.path());
    stored.release();
    substituted
}

fn continue_search(
    server: &Server,
    announcement: &Announcement,
    unpacked: &Unpacked,
    leave: &AtomicBool,
    stored: &Stored<'_>,
    out: &std::path::Path,
) -> Result<bool, Error> {
    let name = announcement.name.as_str();
    // It may have ended since this machine looked.
    let now = announced(server, name)?;
    let runs =
        |now: Announcement| now.state == State::Running && now.instance == announcement.instance;
    if !now.is_some_and(runs) {
        return Ok(false);
    }
    let options = SearchOptions {
        out: out.to_owned(),
        resume: stored.fetch_state()?,
        collector: Collector::Substitute,
        ..unpacked.options.clone()
    };
    // The state names the program by its path there.
    let target = Target { program: unpacked.program.clone(), ..unpacked.target.clone() };
    let instance = &announcement.instance;
    replay_core::substitute(&target, &options, leave, &mut Quiet, &|_| {
        let there = RemotePool::new(server, name, instance.clone(), &Unheard, stored);
        let (job, spin_after) = (Job::clone(&unpacked.job), unpacked.spin_after);
        let here = WorkerPool::new(&unpacked.target, job, spin_after, leave)?;
        Ok(Box::new(DividedPool::new(there, here, 1, |message| unpacked.translate(message))))
    })?;
    stored.store();
    if !leave.load(Relaxed) {
        finish(server, name, State::Waiting)?;
    }
    Ok(true)
}

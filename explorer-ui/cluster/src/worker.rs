//! `heddle worker`: runs pieces of the searches at a server.

use crate::balance;
use crate::bundle::Bundle;
use crate::machines::Table;
use crate::protocol::{Announcement, HEARTBEAT, HEARTBEATS, Heartbeat, SILENCE, State, unpack};
use crate::quiet::Quiet;
use crate::served_search::Search;
use crate::server::Server;
use crate::trust::Trust;
use async_nats::Subscriber;
use explorer_ui::cli::arguments::WorkerArgs;
use explorer_ui::console::Console;
use explorer_ui::exit::{Problem, Status};
use explorer_ui::interrupt;
use explorer_ui::processors;
use futures_util::StreamExt;
use replay_core::scratch::Scratch;
use replay_core::{Error, this_build};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The pause between two looks at the list of searches.
pub(crate) const LOOK: Duration = Duration::from_millis(300);
/// How often in a row the pieces of a search may fail on a machine before it refuses the search.
const FAILURES: u32 = 3;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A machine that runs pieces.
pub(crate) struct Machine<'a> {
    pub(crate) server: Server,
    console: &'a Console,
    trust: Trust,
    pub(crate) name: String,
    host: String,
    pub(crate) workers: u32,
    max_memory: Option<u64>,
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) executions: AtomicU64,
    /// How often in a row the pieces of the search last served failed.
    failures: AtomicU32,
    /// The executions at the last heartbeat, and its time.
    last: Mutex<(u64, Instant)>,
    /// The machines, by their heartbeats.
    pub(crate) table: Mutex<Table>,
    beats: Mutex<Option<Subscriber>>,
}

/// Runs the verb.
pub(crate) fn main(args: &WorkerArgs, url: &str, console: &Console) -> Result<Status, Problem> {
    explorer_ui::commands::install()?;
    let trust = Trust::new(&args.trust, args.trust_cluster).map_err(Problem::Usage)?;
    let server = Server::connect(url, &args.connection)?;
    let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    let machine = Machine {
        server,
        console,
        trust,
        name: format!("{host}-{}", std::process::id()),
        host,
        workers: args.workers.unwrap_or_else(processors::count),
        max_memory: args.max_memory,
        interrupt: interrupt::flag(),
        executions: AtomicU64::new(0),
        failures: AtomicU32::new(0),
        last: Mutex::new((0, Instant::now())),
        table: Mutex::default(),
        beats: Mutex::default(),
    };
    let _context = machine.server.context();
    limit_this_process();
    console.note(&format!(
        "heddle: {} offers {} at {}",
        machine.name,
        if machine.workers == 1 {
            "1 worker".into()
        } else {
            format!("{} workers", machine.workers)
        },
        machine.server.address
    ));
    machine.serve(args.max_idle)?;
    machine.beat(None, None, true);
    Ok(Status::Fine)
}

/// No core dumps, which could fill the disk: the programs come from elsewhere, and crash.
fn limit_this_process() {
    use nix::sys::resource::{Resource, setrlimit};
    // Without the limit, the worker works as well.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
}

impl Machine<'_> {
    /// Serves searches until interrupted, or without a search for this time.
    fn serve(&self, max_idle: Option<Duration>) -> Result<(), Error> {
        let mut refused: BTreeMap<(String, String), String> = BTreeMap::new();
        let mut idle = Instant::now();
        let mut beaten = Instant::now() - HEARTBEAT;
        let (mut served, mut turn) = (BTreeMap::new(), 0);
        while !self.interrupt.load(Relaxed) && max_idle.is_none_or(|most| idle.elapsed() < most) {
            let mut running = self.running();
            if running.len() > 1 {
                // Each machine is heard once in this time.
                self.hear(HEARTBEAT + HEARTBEAT / 4);
                balance::order(&mut running, &served, &self.name, lock(&self.table).list());
            }
            let due = beaten.elapsed() >= HEARTBEAT;
            let (mut did, mut refuses) = (false, false);
            for (name, announcement) in running {
                let announcement = match announcement {
                    Ok(announcement) => announcement,
                    Err(why) => {
                        self.refuse(&name, &why, &mut refused, String::new(), due);
                        refuses = true;
                        continue;
                    }
                };
                let key = (name.clone(), announcement.bundle.clone());
                if let Some(why) = refused.get(&key) {
                    refuses = true;
                    if due {
                        self.beat(Some(&name), Some(why), false);
                    }
                    continue;
                }
                turn += 1;
                served.insert(name.clone(), turn);
                match self.run(&announcement) {
                    Ok(got) => did |= got,
                    Err(error) => {
                        let why = error.to_string();
                        self.refuse(&name, &why, &mut refused, announcement.bundle, true);
                    }
                }
                break;
            }
            if due {
                beaten = Instant::now();
                if !refuses {
                    self.beat(None, None, false);
                }
            }
            match did {
                true => idle = Instant::now(),
                false => std::thread::sleep(LOOK),
            }
        }
        Ok(())
    }

    fn refuse(
        &self,
        name: &str,
        why: &str,
        refused: &mut BTreeMap<(String, String), String>,
        bundle: String,
        due: bool,
    ) {
        if due {
            self.beat(Some(name), Some(why), false);
        }
        if refused.insert((name.to_owned(), bundle), why.to_owned()).is_none() {
            self.console.note(&format!("heddle: {} refuses the search {name}: {why}", self.name));
        }
    }

    /// Listens for the heartbeats of the machines.
    pub(crate) fn hear(&self, time: Duration) {
        let mut beats = lock(&self.beats);
        if beats.is_none() {
            *beats = self.server.listen(HEARTBEATS).ok();
        }
        let is_open = match &mut *beats {
            Some(beats) => self.server.hear(beats, time, |beat| {
                lock(&self.table).heard(beat, Instant::now());
            }),
            None => {
                std::thread::sleep(time);
                false
            }
        };
        if !is_open {
            *beats = None;
        }
        lock(&self.table).expire(Instant::now(), SILENCE);
    }

    /// The searches that are running, each as announced, or why its announcement cannot be used.
    pub(crate) fn running(&self) -> Vec<(String, Result<Announcement, String>)> {
        let Ok(store) = self.server.searches() else { return Vec::new() };
        let listed = self.server.wait(async {
            let mut found = Vec::new();
            let mut names = store.keys().await.ok()?;
            while let Some(name) = names.next().await {
                let name = name.ok()?;
                if let Ok(Some(bytes)) = store.get(&name).await {
                    found.push((name.clone(), Announcement::parse(&name, &bytes)));
                }
            }
            Some(found)
        });
        let runs = |one: &Result<Announcement, String>| {
            one.as_ref().map_or(true, |one| one.state == State::Running)
        };
        let all = listed.flatten().unwrap_or_default();
        all.into_iter().filter(|(_, one)| runs(one)).collect()
    }

    /// Says that this machine is there.
    pub(crate) fn beat(&self, search: Option<&str>, refuses: Option<&str>, leaves: bool) {
        let executions = self.executions.load(Relaxed);
        let rate = {
            let mut last = lock(&self.last);
            let seconds = last.1.elapsed().as_secs_f64();
            let rate = (executions - last.0) as f64 / seconds.max(1e-3);
            *last = (executions, Instant::now());
            rate
        };
        let beat = Heartbeat {
            machine: self.name.clone(),
            host: self.host.clone(),
            workers: self.workers,
            search: search.map(str::to_owned),
            executions,
            rate,
            refuses: refuses.map(str::to_owned),
            leaves,
        };
        if let Ok(bytes) = serde_json::to_vec(&beat) {
            self.server.broadcast(HEARTBEATS, bytes);
        }
    }

    /// Runs pieces of a search until it is over. Returns whether there was one.
    fn run(&self, announcement: &Announcement) -> Result<bool, Error> {
        if let Some(why) = announcement.foreign_build(this_build()) {
            return Err(Error::Usage(why));
        }
        let signed = announcement.signed.as_ref();
        if let Some(why) = self.trust.refusal(&announcement.bundle, signed) {
            return Err(Error::NotConfirmed(why));
        }
        let Some(bytes) = self.server.object(&announcement.bundle)? else { return Ok(false) };
        if blake3::hash(&bytes).to_hex().as_str() != announcement.bundle {
            return Err(Error::Runtime(
                "its program at the server is not the announced one: send it again".into(),
            ));
        }
        let bundle: Bundle = unpack(&bytes)
            .map_err(|why| Error::Runtime(format!("its program cannot be read: {why}")))?;
        let scratch = Scratch::new().map_err(Error::system("cannot create a directory"))?;
        let mut unpacked = bundle.unpack(scratch.path())?;
        replay_core::runtime::set_library_directory(unpacked.libraries.clone());
        self.beat(Some(&announcement.name), None, false);
        if let Some(why) = unpacked.difference(&self.interrupt, &mut Quiet)? {
            return Err(Error::Target(why));
        }
        if let Some(most) = self.max_memory {
            unpacked.job.memory = unpacked.job.memory.min(most);
        }
        let ran = Search::new(self, announcement, &unpacked).run();
        match ran {
            // It may be a matter of these pieces, or of the state of this machine: once more, with other
            // processes.
            Err(error) if self.failures.fetch_add(1, Relaxed) + 1 < FAILURES => {
                let name = &announcement.name;
                self.console.note(&format!("heddle: {} begins {name} again: {error}", self.name));
                Ok(true)
            }
            Err(error) => {
                self.failures.store(0, Relaxed);
                Err(error)
            }
            Ok(got) => {
                self.failures.store(0, Relaxed);
                Ok(got)
            }
        }
    }
}

//! Runs the program, in a thread of its own: no key ever waits for it.

use super::hand::News;
use super::loaded::Loaded;
use super::looking::{Look, Looker};
use super::screen::guarded;
use super::searching::Search;
use super::sight::{Asked as Sights, Sighted};
use crate::views::explain::Page;
use crate::views::summary::cut;
use crate::views::text::count;
use replay_core::bisect::{self, Bisected, classify};
use replay_core::realign::{Realigned, realign};
use replay_core::shrink::{Proof, Size, Watch, shrink};
use replay_core::source::{Source, Sources};
use replay_core::walk::{Ahead, HandOver, Walk, Walked};
use replay_core::{Error, Target};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;
use traces::{Choice, TaskId, Trace};

/// Executions of each kind of look: a first one from every move, and then a longer one.
const BUDGETS: [u64; 2] = [100, 2000];
/// Executions for each number of preemptions when a schedule is shrunk.
const BUDGET_TO_SHRINK: u64 = 100_000;

/// What the engine is asked.
#[derive(Debug)]
pub(super) enum Request {
    /// Follow these choices.
    Run { choices: Vec<Choice>, cursor: usize },
    /// Find the smallest schedule that fails like this one.
    Shrink(Arc<Loaded>),
    /// Find out why this one fails.
    Explain(Arc<Loaded>),
    /// The program was rebuilt: fit this schedule to it.
    Reload(Arc<Loaded>),
    /// Look ahead from a step, for each of these tasks.
    Look { generation: u64, loaded: Arc<Loaded>, step: usize, moves: Vec<TaskId> },
}

/// What it answers.
#[derive(Debug)]
pub enum Reply {
    /// An execution, and where to stand in it.
    Ran {
        /// The execution.
        loaded: Arc<Loaded>,
        /// Where.
        cursor: usize,
    },
    /// The smallest schedule that fails like another.
    Shrunk {
        /// The execution.
        loaded: Arc<Loaded>,
        /// What is known of it.
        what: String,
    },
    /// Why a schedule fails.
    Explained {
        /// What there is to say.
        page: Box<Reasons>,
        /// The schedule, and the nearest that passes.
        nearest: Option<(Arc<Loaded>, Arc<Loaded>)>,
    },
    /// What became of the schedule in a program that was rebuilt.
    Reloaded {
        /// The execution of the new program.
        loaded: Arc<Loaded>,
        /// What became of it, in words.
        what: String,
    },
    /// How it goes.
    Progress(String),
    /// The choices could not be followed, or the program not be run.
    Failed(String),
    /// What lies ahead of one move.
    Ahead {
        /// Of which position.
        generation: u64,
        /// Whose move.
        task: TaskId,
        /// What.
        ahead: Ahead,
    },
    /// How a search goes.
    Search {
        /// Which.
        number: u64,
        /// What is new.
        news: News,
    },
    /// What was seen in the program at a step.
    Sighted {
        /// In which execution.
        of: Arc<Loaded>,
        /// The expressions that were asked for.
        expressions: Vec<String>,
        /// What.
        seen: Sighted,
    },
    /// There is nothing more to say of a position.
    Looked {
        /// Which.
        generation: u64,
    },
}

/// What is known of why a schedule fails.
#[derive(Debug)]
pub struct Reasons {
    pub(super) bisected: Bisected,
    pub(super) sources: HashMap<String, Arc<Source>>,
}

impl Reasons {
    /// As a page.
    #[must_use]
    pub fn page(&self) -> Page<'_> {
        Page {
            trace: &self.bisected.failing,
            shrunk: None,
            kind: classify(&self.bisected.failing, Some(&self.bisected)),
            bisected: Some(&self.bisected),
            sources: &self.sources,
            remarks: Vec::new(),
            commands: Vec::new(),
        }
    }
}

/// A request, and the flag that tells to give it up for something newer. Each has one of its own, so
/// that none can be given up for another.
struct Asked {
    request: Request,
    given_up: Arc<AtomicBool>,
}

/// The thread and the way to it, and the search, which has one of its own.
pub(super) struct Engine {
    requests: Option<Sender<Asked>>,
    /// Of the request before.
    given_up: RefCell<Arc<AtomicBool>>,
    thread: Option<JoinHandle<()>>,
    /// How the program is run, as it was built last.
    walk: Arc<RwLock<Walk>>,
    replies: Arc<dyn Fn(Reply) + Send + Sync>,
    search: RefCell<Option<Search>>,
    looker: Looker,
}

impl Engine {
    /// Starts it; its answers go to `replies`.
    pub(super) fn start(walk: Walk, replies: impl Fn(Reply) + Send + Sync + 'static) -> Engine {
        let (requests, inbox) = channel();
        let replies: Arc<dyn Fn(Reply) + Send + Sync> = Arc::new(replies);
        let walk = Arc::new(RwLock::new(walk));
        let thread = {
            let (walk, replies) = (Arc::clone(&walk), Arc::clone(&replies));
            std::thread::spawn(move || {
                while let Err(why) = guarded(|| serve(&walk, &inbox, &*replies)) {
                    replies(Reply::Failed(why));
                }
            })
        };
        Engine {
            requests: Some(requests),
            given_up: RefCell::default(),
            thread: Some(thread),
            walk,
            looker: Looker::start(Arc::clone(&replies)),
            replies,
            search: RefCell::default(),
        }
    }

    /// The program that it runs.
    pub(super) fn target(&self) -> Target {
        present(&self.walk).target().clone()
    }

    /// Asks for something; what it does now is given up.
    pub(super) fn ask(&self, request: Request) {
        let given_up = Arc::<AtomicBool>::default();
        self.give_up();
        self.given_up.replace(Arc::clone(&given_up));
        if let Some(requests) = &self.requests {
            let _ = requests.send(Asked { request, given_up });
        }
    }

    /// Gives up what was asked last.
    pub(super) fn give_up(&self) {
        self.given_up.borrow().store(true, Ordering::Relaxed);
    }

    /// Looks into the program at a step of an execution.
    pub(super) fn see(&self, loaded: Arc<Loaded>, asked: Sights) {
        self.looker.ask(Look { target: self.target(), loaded, asked });
    }

    /// Hands over to a search; one before it is ended.
    pub(super) fn search(&self, number: u64, order: HandOver) {
        self.give_up();
        let search = Search::start(number, present(&self.walk), order, Arc::clone(&self.replies));
        self.search.replace(Some(search));
    }

    /// Takes back from the search: it ends, and says what it came to.
    pub(super) fn stop(&self) {
        if let Some(search) = &*self.search.borrow() {
            search.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.give_up();
        self.stop();
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The program as it was built last.
fn present(walk: &RwLock<Walk>) -> Walk {
    walk.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Takes up a program that was rebuilt.
fn reload(kept: &RwLock<Walk>, loaded: &Loaded, given_up: &AtomicBool) -> Result<Reply, Error> {
    let before = present(kept);
    let target = before.target().rebuilt()?;
    let walk = before.of_build(target);
    *kept.write().unwrap_or_else(PoisonError::into_inner) = walk.clone();
    let (trace, what) = match realign(&walk, &loaded.trace.execution, given_up)? {
        Realigned::Fits(trace) => {
            let what = match &trace.failure {
                Some(failure) => format!("rebuilt: it still fails: {}", failure.message),
                None => {
                    let passes = cut(&trace).unwrap_or_else(|| "passes".to_owned());
                    format!("rebuilt: the schedule fits the new build, and {passes}")
                }
            };
            (trace, what)
        }
        Realigned::Not { fitted, of } => match walk.run(Vec::new(), given_up)? {
            Walked::Ran(trace) => {
                let what = format!(
                    "rebuilt: the schedule applies no more ({fitted} of {of} stretches fit); this is \
                     the one that preempts nobody"
                );
                (trace, what)
            }
            _ => return Ok(Reply::Failed("rebuilt: the program cannot be run any more".into())),
        },
    };
    Ok(Reply::Reloaded { loaded: Arc::new(Loaded::of(*trace)), what })
}

fn serve(kept: &RwLock<Walk>, inbox: &Receiver<Asked>, reply: &dyn Fn(Reply)) {
    while let Ok(first) = inbox.recv() {
        // Of several that wait only the last run and the last look count.
        let (mut run, mut look, mut shrink, mut explain) = (None, None, None, None);
        let mut rebuilt = None;
        for Asked { request, given_up } in std::iter::once(first).chain(inbox.try_iter()) {
            match request {
                Request::Run { choices, cursor } => {
                    run = Some((choices, cursor));
                    look = None;
                }
                Request::Shrink(loaded) => {
                    shrink = Some((loaded, given_up));
                    look = None;
                }
                Request::Reload(loaded) => rebuilt = Some((loaded, given_up)),
                Request::Explain(loaded) => {
                    explain = Some((loaded, given_up));
                    look = None;
                }
                Request::Look { generation, loaded, step, moves } => {
                    look = Some((generation, loaded, step, moves, given_up));
                }
            }
        }
        if let Some((loaded, given_up)) = rebuilt {
            let came = reload(kept, &loaded, &given_up);
            reply(came.unwrap_or_else(|error| Reply::Failed(format!("rebuilt: {error}"))));
            // What else was asked is about the build before.
            continue;
        }
        let walk = &present(kept);
        if let Some((choices, cursor)) = run {
            reply(follow(walk, choices, cursor));
        }
        if let Some((loaded, given_up)) = shrink {
            reply(smallest(walk, &loaded.trace, &given_up, reply));
        }
        if let Some((loaded, given_up)) = explain {
            reply(reasons(walk, &loaded, &given_up, reply));
        }
        if let Some((generation, loaded, step, moves, given_up)) = look {
            ahead(walk, (&loaded, step), moves, &given_up, &|task, ahead| {
                reply(Reply::Ahead { generation, task, ahead });
            });
            reply(Reply::Looked { generation });
        }
    }
}

/// Looks ahead from a step, for each task that may move there.
fn ahead(
    walk: &Walk,
    (loaded, step): (&Loaded, usize),
    mut moves: Vec<TaskId>,
    given_up: &AtomicBool,
    tell: &dyn Fn(TaskId, Ahead),
) {
    for budget in BUDGETS {
        moves.retain(|&task| {
            let mut prefix = loaded.before(step).to_vec();
            prefix.push(Choice::Task(task));
            if given_up.load(Ordering::Relaxed) {
                return false;
            }
            let Ok(ahead) = walk.ahead(&prefix, budget, given_up) else { return false };
            let known = ahead.exhausted;
            if !given_up.load(Ordering::Relaxed) {
                tell(task, ahead);
            }
            // Of what is known whole there is no more to see.
            !known
        });
    }
}

/// Tells how shrinking goes.
struct Told<'a>(&'a dyn Fn(Reply));

impl Watch for Told<'_> {
    fn progress(&mut self, size: Size, trying: &str) {
        let preemptions = count(size.preemptions as u64, "preemption");
        (self.0)(Reply::Progress(format!("at {preemptions}; trying {trying}")));
    }
}

fn smallest(walk: &Walk, trace: &Trace, given_up: &AtomicBool, reply: &dyn Fn(Reply)) -> Reply {
    match shrink(walk, trace, BUDGET_TO_SHRINK, given_up, &mut Told(reply)) {
        Ok(shrunk) => {
            let preemptions = |size: Size| count(size.preemptions as u64, "preemption");
            let known = match shrunk.proof {
                Proof::Proved { .. } => "proved minimal",
                Proof::Tried { .. } => "nothing smaller was found",
                Proof::Interrupted => "interrupted",
            };
            let (from, to) = (preemptions(shrunk.from), preemptions(shrunk.to));
            let what = format!("from {from} to {to}: {known}");
            Reply::Shrunk { loaded: Arc::new(Loaded::of(shrunk.trace)), what }
        }
        Err(refused) => Reply::Failed(refused.to_string()),
    }
}

impl bisect::Watch for Told<'_> {
    fn progress(&mut self, runs: usize, passing: usize) {
        let runs = count(runs as u64, "schedule");
        (self.0)(Reply::Progress(format!("{runs} near it run, {passing} pass")));
    }
}

fn reasons(
    walk: &Walk,
    loaded: &Arc<Loaded>,
    given_up: &AtomicBool,
    reply: &dyn Fn(Reply),
) -> Reply {
    let budget = bisect::BUDGET;
    match bisect::bisect(walk, &loaded.trace, None, budget, given_up, &mut Told(reply)) {
        Ok(bisected) => {
            let (sources, _) = Sources::all(&bisected.failing);
            let nearest = bisected
                .passing
                .clone()
                .map(|passing| (Arc::clone(loaded), Arc::new(Loaded::of(passing))));
            Reply::Explained { page: Box::new(Reasons { bisected, sources }), nearest }
        }
        Err(refused) => Reply::Failed(refused.to_string()),
    }
}

fn follow(walk: &Walk, choices: Vec<Choice>, cursor: usize) -> Reply {
    // A run is short, and not given up: whoever asked for it waits to see it.
    match walk.run(choices, &AtomicBool::new(false)) {
        Ok(Walked::Ran(trace)) => Reply::Ran { loaded: Arc::new(Loaded::of(*trace)), cursor },
        Ok(Walked::Impossible { step, what }) => {
            Reply::Failed(format!("this cannot be done at step {}: {what}", step + 1))
        }
        Ok(Walked::Died(how)) => Reply::Failed(format!("the program died: {how}")),
        Ok(Walked::Interrupted) => Reply::Failed("interrupted".into()),
        Err(error) => Reply::Failed(error.to_string()),
    }
}

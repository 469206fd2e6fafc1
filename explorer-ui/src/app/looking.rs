//! Looks into the program at steps of a schedule, in a thread of its own: the one that traces it.

use super::engine::Reply;
use super::loaded::Loaded;
use super::screen::guarded;
use super::sight::{Asked, Sighted};
use replay_core::debug::{Sight, StopSight};
use replay_core::symbols::expressions::{Expression, parse};
use replay_core::{Error, Target};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use traces::TaskId;

/// After so many steps it is told what was seen.
const CHUNK: usize = 64;

/// What is to be looked at, and in which execution of which program.
pub(super) struct Look {
    pub(super) target: Target,
    pub(super) loaded: Arc<Loaded>,
    pub(super) asked: Asked,
}

/// The thread and the way to it.
pub(super) struct Looker {
    requests: Option<Sender<Look>>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<Mutex<Option<StopSight>>>,
}

impl Looker {
    /// Starts it; nothing is run before something is to be looked at.
    pub(super) fn start(replies: Arc<dyn Fn(Reply) + Send + Sync>) -> Looker {
        let (requests, inbox) = channel();
        let stop = Arc::<Mutex<Option<StopSight>>>::default();
        let mut looking = Looking { inbox, held: None, stop: Arc::clone(&stop) };
        let thread = std::thread::spawn(move || {
            while let Err(why) = guarded(|| looking.serve(&*replies)) {
                replies(Reply::Failed(why));
            }
        });
        Looker { requests: Some(requests), thread: Some(thread), stop }
    }

    /// Looks at something; what it looks at now is given up.
    pub(super) fn ask(&self, look: Look) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(look);
        }
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(stop) = &*self.stop.lock().unwrap_or_else(PoisonError::into_inner) {
            stop.now();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Looking {
    inbox: Receiver<Look>,
    /// The process, and of which execution it is.
    held: Option<(Arc<Loaded>, Sight)>,
    stop: Arc<Mutex<Option<StopSight>>>,
}

impl Looking {
    fn serve(&mut self, reply: &dyn Fn(Reply)) {
        let mut waiting = None;
        while let Some(first) = waiting.take().or_else(|| self.inbox.recv().ok()) {
            // Only the last still counts.
            let look = self.inbox.try_iter().last().unwrap_or(first);
            let tell = |seen| {
                let (of, expressions) = (Arc::clone(&look.loaded), look.asked.expressions.clone());
                reply(Reply::Sighted { of, expressions, seen });
            };
            match self.look(&look, &tell) {
                Ok(next) => waiting = next,
                Err(error) => {
                    self.held = None;
                    tell(Sighted::Trouble(error.to_string()));
                }
            }
        }
    }

    /// Looks; what came in meanwhile comes back.
    fn look(&mut self, look: &Look, tell: &dyn Fn(Sighted)) -> Result<Option<Look>, Error> {
        let Look { target, loaded, asked } = look;
        if !self.held.as_ref().is_some_and(|(of, _)| Arc::ptr_eq(of, loaded)) {
            self.held = None;
            let sight = Sight::start(target, loaded.trace.clone())?;
            let stop = Some(sight.stop());
            *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = stop;
            self.held = Some((Arc::clone(loaded), sight));
        }
        let Some((_, sight)) = &mut self.held else { return Ok(None) };
        let expressions: Vec<Expression> =
            asked.expressions.iter().filter_map(|text| parse(text).ok()).collect();
        // Whose turn it is comes first.
        let order = |step: usize| {
            let mover = loaded.trace.execution.steps.get(step).map(|step| step.task);
            let others = (0..loaded.tasks() as u16).map(TaskId);
            mover.into_iter().chain(others).collect::<Vec<TaskId>>()
        };
        sight.go_to(asked.step)?;
        let values = sight.values(&expressions, &order(asked.step))?;
        tell(Sighted::Step { step: asked.step, stacks: sight.stacks()?, values });
        if expressions.is_empty() {
            return Ok(None);
        }
        let mut chunk = Vec::new();
        for step in asked.around.clone() {
            if let Ok(next) = self.inbox.try_recv() {
                return Ok(Some(next));
            }
            sight.go_to(step)?;
            chunk.push(sight.values(&expressions, &order(step))?);
            if chunk.len() == CHUNK || step + 1 == asked.around.end {
                let from = step + 1 - chunk.len();
                tell(Sighted::Steps(from, std::mem::take(&mut chunk)));
            }
        }
        Ok(None)
    }
}

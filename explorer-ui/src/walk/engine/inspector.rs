//! The thread that reads stacks and values of the target at steps of a schedule. All of it happens
//! on one thread, because ptrace requires the thread that attached.

use super::{Replies, Urgency};
use crate::walk::inspection::{InspectionRequest, InspectionResult, More};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::panics::catch_panic;
use crate::walk::reply::Reply;
use replay_core::debug::{Inspector as TargetInspector, OriginLine, StopInspector};
use replay_core::symbols::expressions::{Expression, parse};
use replay_core::{Error, Target};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use traces::TaskId;

/// Values are reported after this many steps.
const CHUNK: usize = 64;

/// A request with the target and the execution it is about.
struct TargetRequest {
    target: Target,
    loaded: Arc<LoadedTrace>,
    request: InspectionRequest,
}

/// Handle of the thread.
pub(super) struct Inspector {
    requests: Option<Sender<TargetRequest>>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<Mutex<Option<StopInspector>>>,
}

impl Inspector {
    /// Starts the thread. It starts the target at the first request.
    pub(super) fn start(urgency: Urgency, replies: Replies) -> io::Result<Inspector> {
        let (requests, inbox) = channel();
        let stop = Arc::<Mutex<Option<StopInspector>>>::default();
        let mut state = InspectorThread { inbox, process: None, stop: Arc::clone(&stop) };
        let thread = std::thread::Builder::new().spawn(move || {
            urgency.apply();
            while let Err(why) = catch_panic(|| state.serve(&*replies)) {
                replies(Reply::Failed(why));
            }
        })?;
        Ok(Inspector { requests: Some(requests), thread: Some(thread), stop })
    }

    /// Sends a request, which replaces the one before.
    pub(super) fn request(
        &self,
        target: Target,
        loaded: Arc<LoadedTrace>,
        request: InspectionRequest,
    ) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(TargetRequest { target, loaded, request });
        }
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(stop) = &*self.stop.lock().unwrap_or_else(PoisonError::into_inner) {
            stop.stop();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct InspectorThread {
    inbox: Receiver<TargetRequest>,
    /// The stopped process, and the execution it replays.
    process: Option<(Arc<LoadedTrace>, TargetInspector)>,
    stop: Arc<Mutex<Option<StopInspector>>>,
}

impl InspectorThread {
    fn serve(&mut self, reply: &dyn Fn(Reply)) {
        let mut waiting = None;
        while let Some(first) = waiting.take().or_else(|| self.inbox.recv().ok()) {
            // Of several waiting requests only the last matters.
            let request = self.inbox.try_iter().last().unwrap_or(first);
            let report = |result| {
                let of = Arc::clone(&request.loaded);
                let expressions = request.request.expressions.clone();
                reply(Reply::Inspected { of, expressions, result });
            };
            match self.inspect(&request, &report) {
                Ok(next) => waiting = next,
                Err(error) => {
                    self.process = None;
                    report(InspectionResult::Failed(error.to_string()));
                }
            }
        }
    }

    /// Serves a request; returns a newer one that arrived meanwhile.
    fn inspect(
        &mut self,
        TargetRequest { target, loaded, request }: &TargetRequest,
        report: &dyn Fn(InspectionResult),
    ) -> Result<Option<TargetRequest>, Error> {
        if !self.process.as_ref().is_some_and(|(of, _)| Arc::ptr_eq(of, loaded)) {
            self.process = None;
            let process = TargetInspector::start(target, loaded.trace.clone())?;
            let stop = Some(process.stop());
            *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = stop;
            self.process = Some((Arc::clone(loaded), process));
        }
        let Some((_, process)) = &mut self.process else { return Ok(None) };
        let expressions: Vec<Expression> =
            request.expressions.iter().filter_map(|text| parse(text).ok()).collect();
        // Local variables are looked up in the running task's frames first.
        let order = |step: usize| {
            let running = loaded.trace.execution.steps.get(step).map(|step| step.task);
            let others = (0..loaded.tasks() as u16).map(TaskId);
            running.into_iter().chain(others).collect::<Vec<TaskId>>()
        };
        process.go_to(request.step)?;
        let values = process.values(&expressions, &order(request.step))?;
        let stacks = process.stacks()?;
        report(InspectionResult::Step { step: request.step, stacks, values });
        let order_here = order(request.step);
        match request.more {
            More::Nothing => {}
            More::Origins => {
                let origins = expressions.iter().map(|expression| {
                    let (_, lines) = process.origin(expression, &order_here)?;
                    Ok(lines.map(OriginLine::merged))
                });
                let origins = origins.collect::<Result<_, Error>>()?;
                report(InspectionResult::Origins(request.step, origins));
            }
            More::Writes => {
                let writes =
                    expressions.iter().map(|expression| process.writes(expression, &order_here));
                let writes = writes.collect::<Result<_, Error>>()?;
                report(InspectionResult::Writes(request.step, writes));
            }
            More::Locals(task, frame) => {
                let values = process.frame_values(task, frame)?;
                report(InspectionResult::Locals(request.step, (task, frame), values));
            }
        }
        if expressions.is_empty() {
            return Ok(None);
        }
        let mut chunk = Vec::new();
        for step in request.around.clone() {
            if let Ok(next) = self.inbox.try_recv() {
                return Ok(Some(next));
            }
            process.go_to(step)?;
            chunk.push(process.values(&expressions, &order(step))?);
            if chunk.len() == CHUNK || step + 1 == request.around.end {
                let from = step + 1 - chunk.len();
                report(InspectionResult::Steps(from, std::mem::take(&mut chunk)));
            }
        }
        Ok(None)
    }
}

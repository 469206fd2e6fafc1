//! Names of objects and threads.

use super::{Reader, user_frames_first};
use crate::explain::library_calls::{self, SiteCall};
use crate::explain::source::Sources;
use crate::symbols::{LiveFrame, Pointees, ProcessMemory, Registers, is_user_frame};
use std::collections::{BTreeMap, HashMap};
use traces::wire::{ObjectInfo, TaskInfo, class, task_state};
use traces::{
    Failure, Frame, Object, ObjectKind, ObjectLocation, Operation, Site, TaskId, WaitEdge,
};

/// Indexed by the code on the wire, which is the order of declaration.
const KINDS: [ObjectKind; 11] = [
    ObjectKind::Task,
    ObjectKind::Mutex,
    ObjectKind::Condition,
    ObjectKind::Semaphore,
    ObjectKind::Futex,
    ObjectKind::Once,
    ObjectKind::Descriptor,
    ObjectKind::Memory,
    ObjectKind::RwLock,
    ObjectKind::Barrier,
    ObjectKind::SpinLock,
];

impl Reader<'_> {
    /// Where the user looks for the allocation of a block: the nearest call in the user's code.
    fn allocation_site(&self, info: &ObjectInfo) -> Option<Site> {
        let callers = info.allocated_by.into_iter().take_while(|&caller| caller != 0);
        let mut all = std::iter::once(info.allocated_at).chain(callers);
        let own = all.find(|&address| self.is_user_site(address));
        self.symbols.site(own.unwrap_or(info.allocated_at))
    }

    pub(super) fn objects(
        &mut self,
        objects: &[ObjectInfo],
        tasks: &[TaskInfo],
        memory: &ProcessMemory,
    ) {
        let mut elsewhere = 0;
        let pointees = self.pointees(objects, tasks, memory);
        let mut stacks: HashMap<u64, Vec<LiveFrame>> = HashMap::new();
        // Each field of a block is an object.
        let mut allocations: HashMap<u64, Option<Site>> = HashMap::new();
        for info in objects {
            let kind = KINDS.get(info.kind as usize).copied().unwrap_or(ObjectKind::Memory);
            let place = match info.class {
                // A `pthread_create` that failed has no task.
                class::TASK if info.number < self.execution.tasks.len() as u64 => {
                    ObjectLocation::Task(TaskId(info.number as u16))
                }
                class::DESCRIPTOR => ObjectLocation::Descriptor(info.number as i32),
                class::HEAP => ObjectLocation::Heap {
                    ordinal: info.number,
                    offset: info.offset,
                    size: info.size,
                    site: *allocations
                        .entry(info.number)
                        .or_insert_with(|| self.allocation_site(info)),
                },
                class::STACK => {
                    ObjectLocation::Stack { task: TaskId(info.number as u16), below: info.offset }
                }
                _ if info.class == class::TASK => ObjectLocation::Other(u32::MAX),
                _ => match self.symbols.site(info.address) {
                    Some(site) => ObjectLocation::Static(site),
                    None => {
                        elsewhere += 1;
                        ObjectLocation::Other(elsewhere - 1)
                    }
                },
            };
            let name = match place {
                _ if info.name[0] != 0 => {
                    let text = info.name.split(|&byte| byte == 0).next().unwrap_or_default();
                    String::from_utf8_lossy(text).into_owned()
                }
                ObjectLocation::Other(u32::MAX) => "a new task".to_owned(),
                ObjectLocation::Stack { task, .. } => {
                    let frames = stacks.entry(info.number).or_insert_with(|| {
                        let alive = |task: &&TaskInfo| task.state != task_state::EXITED;
                        let task = tasks.get(task.index()).filter(alive);
                        let live = |task: &TaskInfo| {
                            self.symbols.live(&Registers::from(task), task.exact != 0, memory)
                        };
                        task.map(live).unwrap_or_default()
                    });
                    // The function of the variable may have returned; then only the stack offset is
                    // known.
                    match self.symbols.local(frames, info.address, memory) {
                        Some(name) if task == TaskId::MAIN => name,
                        Some(name) => format!("{task}'s {name}"),
                        None => self.unnamed(&place),
                    }
                }
                ObjectLocation::Heap { offset, size, .. } => {
                    let start = info.address.wrapping_sub(offset);
                    let block = start..start.saturating_add(size.max(1));
                    let known = pointees.as_ref().and_then(|all| all.name(block, info.address));
                    known.unwrap_or_else(|| self.unnamed(&place))
                }
                _ => self.symbols.object_name(&place),
            };
            self.execution.objects.push(Object { kind, place, name });
        }
    }

    /// Names the next object by its location alone.
    pub(super) fn unnamed(&mut self, place: &ObjectLocation) -> String {
        self.unnamed.push(self.execution.objects.len() as u32);
        self.symbols.object_name(place)
    }

    /// Names objects that no variable points to by the expression that the source uses for them. If
    /// several objects have the same expression, the location is appended to distinguish them.
    pub(super) fn name_by_source(&mut self, sources: &mut Sources) {
        if self.unnamed.is_empty() {
            return;
        }
        let source = &mut |file: &str| sources.get(file).ok();
        let said = crate::explain::source::expressions(&self.execution, &self.unnamed, source);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        said.values().for_each(|text| *counts.entry(text).or_default() += 1);
        let waited: Vec<u32> =
            said.keys().copied().filter(|&object| self.is_of_condition(object)).collect();
        for (&object, text) in &said {
            // Those that wait for one condition variable wait for one thing.
            let alone = counts[text.as_str()] == 1 || waited.contains(&object);
            let object = &mut self.execution.objects[object as usize];
            object.name = match object.place {
                ObjectLocation::Stack { task, .. } if alone && task != TaskId::MAIN => {
                    format!("{task}'s {text}")
                }
                _ if alone => text.clone(),
                _ => format!("{text} in {}", object.name),
            };
        }
    }

    /// Whether tasks wait at this futex for a condition variable alone: it belongs to the library then, as
    /// that by which `parking_lot` suspends a thread.
    pub(super) fn is_of_condition(&self, object: u32) -> bool {
        let steps = self.execution.steps.iter();
        let mut sites = steps
            .filter(|step| step.object == Some(object) && step.operation == Operation::FutexWait)
            .map(|step| step.site)
            .peekable();
        let is_wait = |site| match library_calls::of_site(&self.execution, site) {
            Some(SiteCall::Call(call)) => call.operation == Some(Operation::Wait),
            _ => false,
        };
        sites.peek().is_some() && sites.all(is_wait)
    }

    /// The pointers into the heap blocks that contain objects.
    pub(super) fn pointees(
        &self,
        objects: &[ObjectInfo],
        tasks: &[TaskInfo],
        memory: &ProcessMemory,
    ) -> Option<Pointees> {
        let in_heap = objects.iter().filter(|info| info.class == class::HEAP);
        let blocks: BTreeMap<u64, u64> = in_heap
            .map(|info| {
                let start = info.address.wrapping_sub(info.offset);
                (start, start.saturating_add(info.size.max(1)))
            })
            .collect();
        if blocks.is_empty() {
            return None;
        }
        let live = |(number, task): (usize, &TaskInfo)| {
            let frames = self.symbols.live(&Registers::from(task), task.exact != 0, memory);
            (TaskId(number as u16), frames)
        };
        let tasks = tasks.iter().enumerate();
        let alive = tasks.filter(|(_, task)| task.state != task_state::EXITED);
        Some(self.symbols.pointees(&blocks, &alive.map(live).collect::<Vec<_>>(), memory))
    }

    /// Resolves the sites of tasks that are blocked or parked at the end. These sites belong to no
    /// step.
    pub(super) fn name_ends(&mut self, waits: &[WaitEdge]) {
        let mut sites: Vec<(Site, bool)> =
            waits.iter().filter_map(|wait| wait.site).map(|site| (site, false)).collect();
        let pending = self.execution.tasks.iter().filter_map(|task| task.pending);
        // The site of a thread's start is its start function; other sites are return addresses.
        sites.extend(pending.map(|next| (next.site, next.operation == Operation::Start)));
        let places = &mut self.execution.places;
        for (site, exact) in sites {
            if let Err(at) = places.binary_search_by_key(&site, |(known, _)| *known) {
                places.insert(at, (site, user_frames_first(self.symbols.frames(site, exact))));
            }
        }
    }

    /// Names threads whose start function belongs to a library: after the first named user function
    /// that the thread executed, else after the user closure that it executed.
    pub(super) fn name_threads(&mut self, failure: Option<&Failure>) {
        for closures in [false, true] {
            let such =
                |frame: &&Frame| is_user_frame(frame) && is_closure(&frame.function) == closures;
            let outermost = |frames: &[Frame]| {
                let frame = frames.iter().rfind(such)?;
                Some(if closures { closure_name(&frame.function) } else { frame.function.clone() })
            };
            for stack in failure.into_iter().flat_map(|failure| &failure.stacks) {
                if self.threads_to_name.contains(&stack.task)
                    && let Some(function) = outermost(&stack.frames)
                {
                    self.threads_to_name.remove(&stack.task);
                    self.execution.tasks[stack.task.index()].function = function;
                }
            }
            let mut known: HashMap<Site, Option<String>> = HashMap::new();
            for step in &self.execution.steps {
                if self.threads_to_name.is_empty() {
                    break;
                }
                if step.operation == Operation::Start || !self.threads_to_name.contains(&step.task)
                {
                    continue;
                }
                let look = || outermost(&self.symbols.frames(step.site, false));
                if let Some(function) = known.entry(step.site).or_insert_with(look).clone() {
                    self.threads_to_name.remove(&step.task);
                    self.execution.tasks[step.task.index()].function = function;
                }
            }
        }
    }

    /// If a thread's start function belongs to a library, its start step gets the site that created
    /// it.
    pub(super) fn move_starts_to_creation(&mut self) {
        let mut created: HashMap<usize, Site> = HashMap::new();
        for at in 0..self.execution.steps.len() {
            let step = &self.execution.steps[at];
            if step.operation == Operation::Create {
                let task = traces::order::created_by(&self.execution, step);
                created.extend(task.map(|task| (task, step.site)));
            } else if step.operation == Operation::Start
                && !self.symbols.frames(step.site, true).iter().any(is_user_frame)
                && let Some(&site) = created.get(&step.task.index())
            {
                self.execution.steps[at].site = site;
            }
        }
    }
}

/// The name of a thread that starts in a closure: `queue::main::{{closure}}` becomes
/// `main::{closure}`.
fn closure_name(function: &str) -> String {
    if function == "operator()" {
        return "{lambda}".to_owned();
    }
    let within = ["::{{closure}}", "::{closure", "::{lambda"].iter();
    let Some(at) = within.filter_map(|mark| function.find(mark)).min() else {
        return function.to_owned();
    };
    let (base, inner) = function.split_at(at);
    // The text before the last separator outside of brackets is the module path.
    let mut depth = 0;
    let start = base.char_indices().rev().find_map(|(at, character)| {
        match character {
            '>' | ')' => depth += 1,
            '<' | '(' => depth -= 1,
            ':' if depth == 0 => return Some(at + 1),
            _ => {}
        }
        None
    });
    let kind = if inner.starts_with("::{lambda") { "lambda" } else { "closure" };
    format!("{}::{{{kind}}}", &base[start.unwrap_or(0)..])
}

/// Whether the function is a closure or a lambda, which has no name.
fn is_closure(function: &str) -> bool {
    ["{{closure}}", "{closure", "{lambda", "operator()"].iter().any(|mark| function.contains(mark))
}

//! From a parked process to an execution that a person can read: what was recorded, with names.

use crate::channel::Channel;
use crate::signature;
use crate::source::Sources;
use crate::symbols::{self, Live, Pointees, ProcessMemory, Registers, Symbols};
use crate::{Error, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use traces::execution::{DataChoice, Pending};
use traces::order::Held;
use traces::trace::{Header, Options};
use traces::wire::{
    Found, NO_TASK, ObjectInfo, RECORD_CALLERS, RECORD_DATA, RECORD_ENABLED, Record, TaskInfo,
    class, task_state,
};
use traces::{
    EnabledChange, Execution, Failure, FailureKind, Frame, Object, ObjectKind, Operation, Place,
    Site, Step, TaskId, TaskRecord, TaskStack, TaskState, Trace, WaitEdge,
};

/// The runtime's own frames are not the program's business.
const RUNTIME: &str = "/heddle-runtime-";

/// Everything that the parked process of `pid` and its channel say about the execution.
pub(crate) fn capture(
    target: &Target,
    channel: &Channel,
    pid: i32,
    found: Option<&Found>,
    options: Options,
) -> Result<Trace, Error> {
    let symbols = Symbols::of_process(pid)?;
    let memory = ProcessMemory::open(pid).map_err(Error::system("cannot read the program"))?;
    let tasks = channel.tasks();
    let mut reader = Reader {
        symbols: &symbols,
        execution: Execution::default(),
        nameless: BTreeSet::new(),
        unnamed: Vec::new(),
    };
    reader.tasks(&tasks, &memory);
    reader.objects(&channel.objects(), &tasks, &memory);
    reader.records(&channel.records());
    let header = header(target, options, found.map_or(0, |found| found.execution));
    reader.name_by_source(&mut Sources::of(&header));
    let failure = found.map(|found| reader.failure(found, &tasks, &memory));
    reader.name_ends(failure.as_ref());
    reader.name_starts(failure.as_ref());
    reader.place_starts();
    let mut execution = reader.execution;
    execution.modules = symbols.modules();
    let (output, cut) = channel.output();
    let mut output = output;
    if cut {
        output.extend_from_slice(b"\n[cut here: the program printed more]\n");
    }
    Ok(Trace { header, execution, failure, output })
}

/// The circumstances of an execution of this target.
pub(crate) fn header(target: &Target, options: Options, found_at: u64) -> Header {
    let pairs = target
        .env
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let (env, left_out) = traces::secrets::redact(pairs);
    Header {
        heddle: env!("CARGO_PKG_VERSION").to_owned(),
        program: target.program.to_string_lossy().into_owned(),
        build_id: target.build_id.clone(),
        args: target.args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        env,
        left_out,
        cwd: target.cwd.to_string_lossy().into_owned(),
        options,
        found_at,
    }
}

struct Reader<'a> {
    symbols: &'a Symbols,
    execution: Execution,
    /// The tasks that no function of the program's own begins.
    nameless: BTreeSet<TaskId>,
    /// The objects that no variable leads to, ascending.
    unnamed: Vec<u32>,
}

impl Reader<'_> {
    /// The site of an address in code; the program's first byte where nothing is known.
    fn site(&self, address: u64) -> Site {
        self.symbols.site(address).unwrap_or(Site { module: 0, offset: 0 })
    }

    fn tasks(&mut self, tasks: &[TaskInfo], memory: &ProcessMemory) {
        for (number, task) in tasks.iter().enumerate() {
            let end = task.name.iter().position(|&byte| byte == 0).unwrap_or(task.name.len());
            let function = match number {
                0 => "main".to_owned(),
                _ => self.symbols.start_function(task.start).unwrap_or_default(),
            };
            let begins_own = self
                .symbols
                .site(task.start)
                .is_some_and(|site| self.symbols.frames(site, true).iter().any(is_own));
            if number > 0 && (function.is_empty() || !begins_own) {
                self.nameless.insert(TaskId(number as u16));
            }
            self.execution.tasks.push(TaskRecord {
                name: String::from_utf8_lossy(&task.name[..end]).into_owned(),
                function,
                parent: (task.parent != NO_TASK).then_some(TaskId(task.parent as u16)),
                pending: self.pending(task, memory),
            });
        }
    }

    /// What a task that is parked would do next.
    fn pending(&self, task: &TaskInfo, memory: &ProcessMemory) -> Option<Pending> {
        let blocked = match task.state {
            task_state::RUNNABLE => false,
            task_state::BLOCKED => true,
            _ => return None,
        };
        Some(Pending {
            operation: Operation::from_code(task.operation as u8)?,
            object: task.object.checked_sub(1),
            site: self.standing(task, memory),
            blocked,
        })
    }

    /// Where a task stands: inside a library, where the program calls it.
    fn standing(&self, task: &TaskInfo, memory: &ProcessMemory) -> Site {
        let site = self.site(task.site);
        let starts = Operation::from_code(task.operation as u8) == Some(Operation::Start);
        if starts || self.symbols.frames(site, false).iter().any(is_own) {
            return site;
        }
        let registers = Registers::from(task);
        let frames = self.symbols.stack(&registers, task.exact != 0, memory, RUNTIME);
        frames.iter().find(|frame| is_own(frame)).and_then(|frame| frame.site).unwrap_or(site)
    }

    fn objects(&mut self, objects: &[ObjectInfo], tasks: &[TaskInfo], memory: &ProcessMemory) {
        let mut elsewhere = 0;
        let pointees = self.pointees(objects, tasks, memory);
        let mut stacks: HashMap<u64, Vec<Live>> = HashMap::new();
        for info in objects {
            let kind = KINDS.get(info.kind as usize).copied().unwrap_or(ObjectKind::Memory);
            let place = match info.class {
                // A creation that did not come about names no task.
                class::TASK if info.number < self.execution.tasks.len() as u64 => {
                    Place::Task(TaskId(info.number as u16))
                }
                class::DESCRIPTOR => Place::Descriptor(info.number as i32),
                class::HEAP => Place::Heap {
                    ordinal: info.number,
                    offset: info.offset,
                    size: info.size,
                    site: self.symbols.site(info.allocated_at),
                },
                class::STACK => {
                    Place::Stack { task: TaskId(info.number as u16), below: info.offset }
                }
                _ if info.class == class::TASK => Place::Other(u32::MAX),
                _ => match self.symbols.site(info.address) {
                    Some(site) => Place::Static(site),
                    None => {
                        elsewhere += 1;
                        Place::Other(elsewhere - 1)
                    }
                },
            };
            let name = match place {
                _ if info.name[0] != 0 => {
                    let text = info.name.split(|&byte| byte == 0).next().unwrap_or_default();
                    String::from_utf8_lossy(text).into_owned()
                }
                Place::Other(u32::MAX) => "a new task".to_owned(),
                Place::Stack { task, .. } => {
                    let frames = stacks.entry(info.number).or_insert_with(|| {
                        let alive = |task: &&TaskInfo| task.state != task_state::EXITED;
                        let task = tasks.get(task.index()).filter(alive);
                        let live = |task: &TaskInfo| {
                            self.symbols.live(&Registers::from(task), task.exact != 0, memory)
                        };
                        task.map(live).unwrap_or_default()
                    });
                    // Where the function has returned, nothing but the place is left.
                    match self.symbols.local(frames, info.address, memory) {
                        Some(name) if task == TaskId::MAIN => name,
                        Some(name) => format!("{task}'s {name}"),
                        None => self.unnamed(&place),
                    }
                }
                Place::Heap { offset, size, .. } => {
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

    /// A name by the place alone, for the next object.
    fn unnamed(&mut self, place: &Place) -> String {
        self.unnamed.push(self.execution.objects.len() as u32);
        self.symbols.object_name(place)
    }

    /// Calls what has no name what the source calls it. Where that is said of several, the place tells
    /// them apart.
    fn name_by_source(&mut self, sources: &mut Sources) {
        if self.unnamed.is_empty() {
            return;
        }
        let source = &mut |file: &str| sources.get(file).ok();
        let said = crate::source::expressions(&self.execution, &self.unnamed, source);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        said.values().for_each(|text| *counts.entry(text).or_default() += 1);
        for (&object, text) in &said {
            let alone = counts[text.as_str()] == 1;
            let object = &mut self.execution.objects[object as usize];
            object.name = match object.place {
                Place::Stack { task, .. } if alone && task != TaskId::MAIN => {
                    format!("{task}'s {text}")
                }
                _ if alone => text.clone(),
                _ => format!("{text} in {}", object.name),
            };
        }
    }

    /// What points to the blocks that objects lie in, if any do.
    fn pointees(
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

    fn records(&mut self, records: &[Record]) {
        let mut sites: HashMap<(u64, bool), Site> = HashMap::new();
        let mut named: BTreeMap<Site, Vec<Frame>> = BTreeMap::new();
        let mut callers: HashMap<u64, Option<Site>> = HashMap::new();
        for record in records {
            let next = self.execution.steps.len() as u64;
            match record.operation {
                RECORD_ENABLED => self.execution.enabled.push(EnabledChange {
                    step: next,
                    task: TaskId(record.task),
                    enabled: record.flags & 1 != 0,
                }),
                RECORD_DATA => self.execution.data.push(DataChoice {
                    step: next.saturating_sub(1),
                    taken: record.value as u32,
                    of: record.object as u32,
                }),
                RECORD_CALLERS => {
                    let Some(step) = self.execution.steps.last_mut() else { continue };
                    if named.get(&step.site).is_some_and(|frames| frames.iter().any(is_own)) {
                        continue;
                    }
                    // A step inside a library: where the program calls it is what a person knows.
                    let mut own = |address: u64| {
                        *callers.entry(address).or_insert_with(|| {
                            let site = self.symbols.site(address)?;
                            self.symbols.frames(site, false).iter().any(is_own).then_some(site)
                        })
                    };
                    let addresses = [record.object, record.site, record.value];
                    if let Some(site) = addresses.into_iter().find_map(&mut own) {
                        step.site = site;
                        let frames = || own_first(self.symbols.frames(site, false));
                        named.entry(site).or_insert_with(frames);
                    }
                }
                code => {
                    let operation = Operation::from_code(code).unwrap_or(Operation::Yield);
                    // The site of a start is the function itself, not a return address.
                    let exact = operation == Operation::Start;
                    let site = *sites
                        .entry((record.site, exact))
                        .or_insert_with(|| self.symbols.site(record.site).unwrap_or(UNKNOWN));
                    named
                        .entry(site)
                        .or_insert_with(|| own_first(self.symbols.frames(site, exact)));
                    self.execution.steps.push(Step {
                        task: TaskId(record.task),
                        operation,
                        object: (record.object != 0).then(|| record.object as u32 - 1),
                        site,
                        value: record.value,
                    });
                }
            }
        }
        self.execution.places = named.into_iter().collect();
    }

    /// Where tasks stand in the end is no step, and wants a name all the same.
    fn name_ends(&mut self, failure: Option<&Failure>) {
        let waits = failure.iter().flat_map(|failure| &failure.waits);
        let mut sites: Vec<(Site, bool)> =
            waits.filter_map(|wait| wait.site).map(|site| (site, false)).collect();
        let pending = self.execution.tasks.iter().filter_map(|task| task.pending);
        // The site of a start is the function itself, not a return address.
        sites.extend(pending.map(|next| (next.site, next.operation == Operation::Start)));
        let places = &mut self.execution.places;
        for (site, exact) in sites {
            if let Err(at) = places.binary_search_by_key(&site, |(known, _)| *known) {
                places.insert(at, (site, own_first(self.symbols.frames(site, exact))));
            }
        }
    }

    /// A thread that a library's own function begins is called after the first function of the
    /// program's that it came to; where that has no name, after the one that it is written in.
    fn name_starts(&mut self, failure: Option<&Failure>) {
        for closures in [false, true] {
            let such = |frame: &&Frame| is_own(frame) && is_closure(&frame.function) == closures;
            let outermost = |frames: &[Frame]| {
                let frame = frames.iter().rfind(such)?;
                Some(if closures { closure_name(&frame.function) } else { frame.function.clone() })
            };
            for stack in failure.into_iter().flat_map(|failure| &failure.stacks) {
                if self.nameless.contains(&stack.task)
                    && let Some(function) = outermost(&stack.frames)
                {
                    self.nameless.remove(&stack.task);
                    self.execution.tasks[stack.task.index()].function = function;
                }
            }
            let mut known: HashMap<Site, Option<String>> = HashMap::new();
            for step in &self.execution.steps {
                if self.nameless.is_empty() {
                    break;
                }
                if step.operation == Operation::Start || !self.nameless.contains(&step.task) {
                    continue;
                }
                let look = || outermost(&self.symbols.frames(step.site, false));
                if let Some(function) = known.entry(step.site).or_insert_with(look).clone() {
                    self.nameless.remove(&step.task);
                    self.execution.tasks[step.task.index()].function = function;
                }
            }
        }
    }

    /// A thread that a library's own function begins, begins for a person where it was created.
    fn place_starts(&mut self) {
        let mut created: HashMap<usize, Site> = HashMap::new();
        for at in 0..self.execution.steps.len() {
            let step = &self.execution.steps[at];
            if step.operation == Operation::Create {
                let task = traces::order::created_by(&self.execution, step);
                created.extend(task.map(|task| (task, step.site)));
            } else if step.operation == Operation::Start
                && !self.symbols.frames(step.site, true).iter().any(is_own)
                && let Some(&site) = created.get(&step.task.index())
            {
                self.execution.steps[at].site = site;
            }
        }
    }

    /// What a task was waiting for, for people.
    fn blocked(&self, task: &TaskInfo) -> String {
        let operation = Operation::from_code(task.operation as u8).map_or("wait", Operation::name);
        let object = task.object.checked_sub(1);
        let object = object.and_then(|index| self.execution.objects.get(index as usize));
        let mut text = operation.to_owned();
        if let Some(object) = object {
            text.push(' ');
            text.push_str(&object.name);
        }
        if task.holder != NO_TASK && !matches!(object, Some(o) if o.kind == ObjectKind::Task) {
            text.push_str(&format!(", held by T{}", task.holder));
        }
        text
    }

    fn failure(&self, found: &Found, tasks: &[TaskInfo], memory: &ProcessMemory) -> Failure {
        let stacks: Vec<TaskStack> = tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.state != task_state::EXITED)
            .map(|(number, task)| TaskStack {
                task: TaskId(number as u16),
                state: match task.state {
                    task_state::RUNNING => TaskState::Running,
                    task_state::RUNNABLE => TaskState::Runnable,
                    _ => TaskState::Blocked(self.blocked(task)),
                },
                frames: self.symbols.stack(
                    &Registers::from(task),
                    task.exact != 0,
                    memory,
                    RUNTIME,
                ),
            })
            .collect();
        let waits = self.waits(found, tasks, memory);
        let own = |stack: &TaskStack| stack.frames.iter().find(|frame| is_own(frame)).cloned();
        let task = found.task.map(TaskId);
        let of_task = stacks.iter().find(|stack| Some(stack.task) == task);
        let frame = match found.kind {
            // Where the program went wrong, not where the library noticed.
            FailureKind::Assertion
            | FailureKind::Abort
            | FailureKind::UncaughtException
            | FailureKind::Crash
            | FailureKind::StackOverflow
            | FailureKind::Spin
            | FailureKind::Livelock
            | FailureKind::DoubleFree
            | FailureKind::ThreadMisuse
            | FailureKind::Unsupported => of_task.and_then(own),
            kind if kind.is_deadlock() || kind.is_lock_misuse() => of_task.and_then(own),
            // Some are noticed long after, and the place is where the block was freed.
            FailureKind::UseAfterFree if found.exact => of_task.and_then(own),
            _ => None,
        };
        let frame = frame.or_else(|| {
            let site = self.symbols.site(found.address)?;
            own_first(self.symbols.frames(site, found.exact)).into_iter().next()
        });
        let place = frame.as_ref().map(Frame::place).unwrap_or_default();
        // The stack that it panicked on is gone by then.
        let panicked = (found.kind == FailureKind::Panic).then(|| panicked_at(&found.detail));
        let place = panicked.flatten().unwrap_or(place);
        let site = frame.and_then(|frame| frame.site).or_else(|| self.symbols.site(found.address));
        let mut failure = Failure {
            kind: found.kind,
            signature: String::new(),
            message: String::new(),
            task,
            site,
            place,
            waits,
            stacks,
            past: found.past.iter().map(|past| self.past(past)).collect(),
        };
        failure.message = signature::message(found, &failure, &self.execution);
        let mut places = vec![failure.place.clone()];
        for (what, address) in &found.places {
            let site = self.symbols.site(*address);
            let frames = site.map(|site| own_first(self.symbols.frames(site, false)));
            let place = frames.and_then(|frames| frames.first().map(Frame::place));
            let place = place.unwrap_or_else(|| "an unknown place".to_owned());
            failure.message.push_str(&format!("; {what} at {place}"));
            places.push(place);
        }
        failure.signature = signature::signature(found, &failure, &self.execution);
        if found.kind == FailureKind::Race {
            // Whichever comes first: it is the same race.
            places.sort();
            failure.signature = format!("race {}", places.join(" "));
        }
        failure
    }

    /// What happened before, with names.
    fn past(&self, past: &traces::wire::Past) -> traces::Past {
        let frames = past.stack.iter().flat_map(|&address| {
            let site = self.symbols.site(address);
            site.map(|site| self.symbols.frames(site, false)).unwrap_or_default()
        });
        let task = TaskId(past.task);
        let mut held = Held::new(self.execution.tasks.len().max(task.index() + 1));
        for step in self.execution.steps.iter().take(past.step as usize) {
            held.accesses(&self.execution, step);
        }
        traces::Past {
            what: past.what.clone(),
            task,
            step: past.step,
            frames: frames.collect(),
            locks: held.of(task).collect(),
        }
    }

    fn waits(&self, found: &Found, tasks: &[TaskInfo], memory: &ProcessMemory) -> Vec<WaitEdge> {
        if !found.kind.is_deadlock() {
            return Vec::new();
        }
        let members: Vec<u16> = if found.cycle.is_empty() {
            (0..tasks.len() as u16)
                .filter(|&number| tasks[usize::from(number)].state == task_state::BLOCKED)
                .collect()
        } else {
            found.cycle.clone()
        };
        members
            .into_iter()
            .filter_map(|number| {
                let task = tasks.get(usize::from(number))?;
                Some(WaitEdge {
                    task: TaskId(number),
                    object: task.object.checked_sub(1),
                    holder: (task.holder != NO_TASK).then_some(TaskId(task.holder as u16)),
                    site: Some(self.standing(task, memory)),
                })
            })
            .collect()
    }
}

const UNKNOWN: Site = Site { module: 0, offset: 0 };

/// In the order of their declaration, which is their code on the wire.
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

/// Whether a frame is in code that the user wrote, as far as can be told.
fn is_own(frame: &Frame) -> bool {
    let library = frame.module.starts_with("/lib") || frame.module.starts_with("/usr/lib");
    !frame.function.is_empty() && !library && !symbols::is_library(&frame.file)
}

/// Where a Rust panic says that it came: `src/queue.rs:41:9` is `queue.rs:41` as everywhere.
fn panicked_at(message: &str) -> Option<String> {
    let (_, rest) = message.split_once(" panicked at ")?;
    let (file, rest) = rest.split_once(".rs:")?;
    let line = rest.split_once(':')?.0;
    let plain = !file.contains(['\'', '"', ' ']) && line.bytes().all(|byte| byte.is_ascii_digit());
    let own = plain && !symbols::is_library(&format!("{file}.rs"));
    own.then(|| format!("{}.rs:{line}", file.rsplit('/').next().unwrap_or_default()))
}

/// `queue::main::{{closure}}` as `main::{closure}`: what a thread is called that begins in it.
fn closure_name(function: &str) -> String {
    if function == "operator()" {
        return "{lambda}".to_owned();
    }
    let within = ["::{{closure}}", "::{closure", "::{lambda"].iter();
    let Some(at) = within.filter_map(|mark| function.find(mark)).min() else {
        return function.to_owned();
    };
    let (base, inner) = function.split_at(at);
    // Whatever is before the last separator outside of brackets is a module.
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

/// Whether a function has no name of its own.
fn is_closure(function: &str) -> bool {
    ["{{closure}}", "{closure", "{lambda", "operator()"].iter().any(|mark| function.contains(mark))
}

/// The frames of one site with those that the user wrote first, where there are any: a lock in a
/// C++ or Rust program is called from inlined library code.
fn own_first(mut frames: Vec<Frame>) -> Vec<Frame> {
    if let Some(at) = frames.iter().position(is_own) {
        frames.rotate_left(at);
    }
    frames
}

//! Builds a readable execution from a parked process: what the runtime recorded, with names.

use crate::control::channel::Channel;
use crate::explain::library_calls::{self, SiteCall};
use crate::explain::source::Sources;
use crate::explain::{locks, signature};
use crate::symbols::{self, LiveFrame, Pointees, ProcessMemory, Registers, Symbols, is_user_frame};
use crate::{Error, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use traces::execution::{DataChoice, Pending};
use traces::order::LocksByTask;
use traces::trace::{Header, Options};
use traces::wire::{
    FoundFailure, NO_TASK, ObjectInfo, RECORD_CALLERS, RECORD_DATA, RECORD_DEADLINE,
    RECORD_ENABLED, Record, TaskInfo, class, task_state,
};
use traces::{DeadlineNote, PANICKED};
use traces::{
    EnabledChange, Execution, Failure, FailureKind, Frame, Object, ObjectKind, ObjectLocation,
    Operation, Site, Step, TaskId, TaskRecord, TaskStack, TaskState, Trace, WaitEdge,
};

/// The error that main or a test of a Rust program returned: Rust's library prints it in a separate line
/// before the process ends with a status that is not zero.
fn returned_error(output: &[u8]) -> Option<String> {
    let output = String::from_utf8_lossy(output);
    // The harness prints a general text of the same form for every such test, and the test's name and dots
    // before, on the same line.
    let own = |line: &&str| !line.contains("the test returned a termination value");
    let error = |line: &'_ str| match line.split_once(" ... Error: ") {
        Some((name, error)) if name.starts_with("test ") => Some(error.to_owned()),
        _ => line.strip_prefix("Error: ").map(str::to_owned),
    };
    let text = output.lines().filter(own).filter_map(error).next_back()?;
    Some(format!("Error: {}", text.chars().take(LONGEST_ERROR).collect::<String>()))
}

/// The most characters of a returned error in a message.
const LONGEST_ERROR: usize = 200;

/// Frames of the runtime's library are hidden from the user.
const RUNTIME: &str = "/heddle-runtime-";

/// Builds the trace of the execution from the parked process `pid` and its channel.
pub(crate) fn capture(
    target: &Target,
    channel: &Channel,
    pid: i32,
    found: Option<&FoundFailure>,
    options: Options,
    names: bool,
) -> Result<Trace, Error> {
    let symbols = match names || found.is_some() {
        true => Symbols::of_process(pid)?,
        false => Symbols::without_names(pid)?,
    };
    let memory = ProcessMemory::open(pid).map_err(Error::system("cannot read the program"))?;
    let tasks = channel.tasks();
    let mut reader = Reader {
        symbols: &symbols,
        execution: Execution::default(),
        threads_to_name: BTreeSet::new(),
        unnamed: Vec::new(),
        main_last: options.main_last,
    };
    reader.tasks(&tasks, &memory);
    reader.objects(&channel.objects(), &tasks, &memory);
    reader.records(&channel.records());
    let header = header(target, options, found.map_or(0, |found| found.execution));
    reader.name_by_source(&mut Sources::of(&header));
    let mut failure = found.map(|found| reader.failure(found, &tasks, &memory));
    if failure.is_none() {
        reader.name_ends(&[]);
    }
    reader.name_threads(failure.as_ref());
    reader.move_starts_to_creation();
    let mut execution = reader.execution;
    execution.modules = symbols.modules();
    let (output, cut) = channel.output();
    let mut output = output;
    if cut {
        output.extend_from_slice(b"\n[output truncated]\n");
    }
    if let Some(failure) = failure.as_mut().filter(|failure| failure.kind == FailureKind::Exit)
        && let Some(error) = returned_error(&output)
    {
        failure.message.push_str(": ");
        failure.message.push_str(&error);
    }
    Ok(Trace { header, execution, failure, output })
}

/// The header of a trace of this target.
pub(crate) fn header(target: &Target, options: Options, found_at: u64) -> Header {
    let pairs = target
        .env
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let (mut env, mut left_out) = traces::redaction::redact(pairs);
    env.retain(|(name, _)| {
        let is_kept = !target.unrecorded.contains(OsStr::from_bytes(name));
        if !is_kept {
            left_out.push(String::from_utf8_lossy(name).into_owned());
        }
        is_kept
    });
    let is_unread = |name: &[u8]| target.unread.contains(OsStr::from_bytes(name));
    let unread = env.iter().filter(|(name, _)| is_unread(name));
    let unread = unread.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
    Header {
        heddle: env!("CARGO_PKG_VERSION").to_owned(),
        program: target.program.to_string_lossy().into_owned(),
        // Paths are equal even if they differ in `/./`.
        name: match target.name == target.program.as_os_str() {
            true => Vec::new(),
            false => target.name.as_bytes().to_vec(),
        },
        build_id: target.build_id.clone(),
        args: target.args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        env,
        left_out,
        unread,
        environment_use: target.environment_use,
        cwd: target.cwd.to_string_lossy().into_owned(),
        options,
        found_at,
    }
}

struct Reader<'a> {
    symbols: &'a Symbols,
    execution: Execution,
    /// Tasks whose start function is not in user code; their names are still to be found.
    threads_to_name: BTreeSet<TaskId>,
    /// Objects that no variable points to, ascending.
    unnamed: Vec<u32>,
    /// Whether main belongs to a test harness.
    main_last: bool,
}

impl Reader<'_> {
    /// The site of a code address; offset 0 of the program if the address is in no module.
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
                .is_some_and(|site| self.symbols.frames(site, true).iter().any(is_user_frame));
            if number > 0 && (function.is_empty() || !begins_own) {
                self.threads_to_name.insert(TaskId(number as u16));
            }
            self.execution.tasks.push(TaskRecord {
                name: String::from_utf8_lossy(&task.name[..end]).into_owned(),
                function,
                parent: (task.parent != NO_TASK).then_some(TaskId(task.parent as u16)),
                pending: self.pending(task, memory),
            });
        }
    }

    /// The next operation of a parked task.
    fn pending(&self, task: &TaskInfo, memory: &ProcessMemory) -> Option<Pending> {
        let blocked = match task.state {
            task_state::RUNNABLE => false,
            task_state::BLOCKED => true,
            _ => return None,
        };
        Some(Pending {
            operation: Operation::from_code(task.operation as u8)?,
            object: task.object.checked_sub(1),
            site: self.user_site(task, memory),
            blocked,
        })
    }

    /// The site that the user sees for a task: if the task is inside a library, the site in user
    /// code that called the library.
    fn user_site(&self, task: &TaskInfo, memory: &ProcessMemory) -> Site {
        let site = self.site(task.site);
        let starts = Operation::from_code(task.operation as u8) == Some(Operation::Start);
        if starts || self.symbols.frames(site, false).iter().any(is_user_frame) {
            return site;
        }
        let registers = Registers::from(task);
        let frames = self.symbols.stack(&registers, task.exact != 0, memory, RUNTIME);
        frames
            .iter()
            .find(|frame| is_user_frame(frame))
            .and_then(|frame| frame.site)
            .unwrap_or(site)
    }

    fn objects(&mut self, objects: &[ObjectInfo], tasks: &[TaskInfo], memory: &ProcessMemory) {
        let mut elsewhere = 0;
        let pointees = self.pointees(objects, tasks, memory);
        let mut stacks: HashMap<u64, Vec<LiveFrame>> = HashMap::new();
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
                    site: self.symbols.site(info.allocated_at),
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
    fn unnamed(&mut self, place: &ObjectLocation) -> String {
        self.unnamed.push(self.execution.objects.len() as u32);
        self.symbols.object_name(place)
    }

    /// Names objects that no variable points to by the expression that the source uses for them. If
    /// several objects have the same expression, the location is appended to distinguish them.
    fn name_by_source(&mut self, sources: &mut Sources) {
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
    fn is_of_condition(&self, object: u32) -> bool {
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
        // For each site that replaces those of steps in a library, the function that it calls.
        let mut callees: BTreeMap<Site, Option<Frame>> = BTreeMap::new();
        let mut called: HashMap<u64, Option<Frame>> = HashMap::new();
        // The address in the library nearest to user code.
        let mut inner = 0;
        for record in records {
            let next = self.execution.steps.len() as u64;
            match record.operation {
                RECORD_ENABLED => self.execution.enabled.push(EnabledChange {
                    step: next,
                    task: TaskId(record.task),
                    enabled: record.flags & 1 != 0,
                }),
                RECORD_DEADLINE => self.execution.deadlines.push(DeadlineNote {
                    step: next,
                    preempts: record.flags & 1 != 0,
                    late: (record.value > 0).then_some((TaskId(record.task), record.value)),
                }),
                RECORD_DATA => self.execution.data.push(DataChoice {
                    step: next.saturating_sub(1),
                    taken: record.value as u32,
                    of: record.object as u32,
                }),
                RECORD_CALLERS => {
                    let Some(step) = self.execution.steps.last_mut() else { continue };
                    if named.get(&step.site).is_some_and(|frames| frames.iter().any(is_user_frame))
                    {
                        continue;
                    }
                    // The step is inside a library: show the user code that called the library.
                    let mut own = |address: u64| {
                        *callers.entry(address).or_insert_with(|| {
                            let site = self.symbols.site(address)?;
                            self.symbols
                                .frames(site, false)
                                .iter()
                                .any(is_user_frame)
                                .then_some(site)
                        })
                    };
                    for address in [record.object, record.site, record.value] {
                        let Some(site) = own(address) else {
                            inner = address;
                            continue;
                        };
                        step.site = site;
                        let frames = || user_frames_first(self.symbols.frames(site, false));
                        named.entry(site).or_insert_with(frames);
                        let callee = called.entry(inner).or_insert_with(|| self.function_at(inner));
                        let known = callees.entry(site).or_insert_with(|| callee.clone());
                        // A call through a pointer calls more than one function.
                        if known.as_ref().map(|it| &it.function)
                            != callee.as_ref().map(|it| &it.function)
                        {
                            *known = None;
                        }
                        break;
                    }
                }
                code => {
                    let operation = Operation::from_code(code).unwrap_or(Operation::Yield);
                    // The site of a thread's start is its start function; other sites are return addresses.
                    let exact = operation == Operation::Start;
                    inner = record.site;
                    let site = *sites
                        .entry((record.site, exact))
                        .or_insert_with(|| self.symbols.site(record.site).unwrap_or(UNKNOWN));
                    named
                        .entry(site)
                        .or_insert_with(|| user_frames_first(self.symbols.frames(site, exact)));
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
        for (site, callee) in callees {
            let Some(frames) = named.get_mut(&site) else { continue };
            // If library functions were inlined at the site, they made the call.
            if frames.last().is_some_and(|last| !last.inlined) {
                frames.extend(callee);
            }
        }
        self.execution.places = named.into_iter().collect();
    }

    /// The function that contains an address, not what is inlined into it there.
    fn function_at(&self, address: u64) -> Option<Frame> {
        let site = self.symbols.site(address)?;
        let function = self.symbols.frames(site, false).pop()?;
        (!function.function.is_empty()).then_some(function)
    }

    /// Resolves the sites of tasks that are blocked or parked at the end. These sites belong to no
    /// step.
    fn name_ends(&mut self, waits: &[WaitEdge]) {
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
    fn name_threads(&mut self, failure: Option<&Failure>) {
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
    fn move_starts_to_creation(&mut self) {
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

    /// What a blocked task waits for, as text.
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

    fn failure(
        &mut self,
        found: &FoundFailure,
        tasks: &[TaskInfo],
        memory: &ProcessMemory,
    ) -> Failure {
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
        let mut waits = self.waits(found, tasks, memory);
        self.name_ends(&waits);
        locks::name_word_locks(&mut waits, &self.execution);
        let own =
            |stack: &TaskStack| stack.frames.iter().find(|frame| is_user_frame(frame)).cloned();
        // A deadlock without a cycle is reported at the first of the tasks that wait.
        let is_harness = |task: &TaskId| self.main_last && *task == TaskId::MAIN;
        let of_test = waits.first().map(|edge| edge.task);
        let task = found.task.map(TaskId).map(|task| match of_test {
            Some(of_test) if is_harness(&task) => of_test,
            _ => task,
        });
        let of_task = stacks.iter().find(|stack| Some(stack.task) == task);
        let frame = match found.kind {
            // The site in user code, not the site in the library that detected the failure.
            FailureKind::Assertion
            | FailureKind::Abort
            | FailureKind::UncaughtException
            | FailureKind::Crash
            | FailureKind::StackOverflow
            | FailureKind::Spin
            | FailureKind::Livelock
            | FailureKind::DoubleFree
            | FailureKind::ThreadMisuse
            | FailureKind::SignalUnsafe
            | FailureKind::Unsupported => of_task.and_then(own),
            kind if kind.is_deadlock() || kind.is_lock_misuse() => of_task.and_then(own),
            // Some misuses of the heap are detected late; then the site of the `free` is reported
            // instead.
            FailureKind::UseAfterFree if found.exact => of_task.and_then(own),
            // A library's function that ends the process, such as that of Rust, was called by the user's.
            FailureKind::Exit if !self.is_user_site(found.address) => of_task.and_then(own),
            _ => None,
        };
        let frame = frame.or_else(|| {
            let site = self.symbols.site(found.address)?;
            user_frames_first(self.symbols.frames(site, found.exact)).into_iter().next()
        });
        let place = frame.as_ref().map(Frame::place).unwrap_or_default();
        // The stack of a panic, and of a check that the exit status reports, no longer exists: the message has
        // the place.
        // Where main belongs to the harness, its place in user code is made by the compiler.
        let is_main_of_harness = self.main_last && task == Some(TaskId::MAIN);
        let printed = match found.kind {
            FailureKind::Panic => panicked_at(&found.detail),
            FailureKind::Assertion if found.number != 0 && is_main_of_harness => {
                Some(checked_at(&found.detail).unwrap_or_default())
            }
            FailureKind::Assertion if found.number != 0 => checked_at(&found.detail),
            _ => None,
        };
        let place = printed.unwrap_or(place);
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
            let frames = site.map(|site| user_frames_first(self.symbols.frames(site, false)));
            let first = frames.and_then(|frames| frames.into_iter().next());
            // A task inside a library: where user code called it.
            let of_task = || {
                let mut stacks = failure.stacks.iter();
                let names =
                    |stack: &&TaskStack| what.split(' ').next() == Some(&stack.task.to_string());
                own(stacks.find(names)?)
            };
            let place = match first {
                Some(frame) if is_user_frame(&frame) => Some(frame.place()),
                first => of_task().or(first).map(|frame| frame.place()),
            };
            let place = place.unwrap_or_else(|| "an unknown location".to_owned());
            failure.message.push_str(&format!("; {what} at {place}"));
            places.push(place);
        }
        failure.signature = signature::signature(found, &failure, &self.execution);
        if found.kind == FailureKind::Race {
            // The order of the two accesses does not matter: it is the same race.
            places.sort();
            failure.signature = format!("race {}", places.join(" "));
        }
        failure
    }

    /// Whether the code at this address, or what it is inlined in, is the user's.
    fn is_user_site(&self, address: u64) -> bool {
        let site = self.symbols.site(address);
        site.is_some_and(|site| self.symbols.frames(site, false).iter().any(is_user_frame))
    }

    /// An earlier event of the failure's history, with names.
    fn past(&self, past: &traces::wire::HistoryEvent) -> traces::HistoryEvent {
        let frames = past.stack.iter().flat_map(|&address| {
            let site = self.symbols.site(address);
            site.map(|site| self.symbols.frames(site, false)).unwrap_or_default()
        });
        let task = TaskId(past.task);
        let mut held = LocksByTask::new(self.execution.tasks.len().max(task.index() + 1));
        for step in self.execution.steps.iter().take(past.step as usize) {
            held.accesses(&self.execution, step);
        }
        let mut frames: Vec<Frame> = frames.collect();
        // The innermost frames of a panic are those that print it.
        let own = frames.iter().position(is_user_frame).filter(|_| past.what == PANICKED);
        frames.drain(..own.unwrap_or(0));
        traces::HistoryEvent {
            what: past.what.clone(),
            task,
            step: past.step,
            frames,
            locks: held.of(task).collect(),
        }
    }

    fn waits(
        &self,
        found: &FoundFailure,
        tasks: &[TaskInfo],
        memory: &ProcessMemory,
    ) -> Vec<WaitEdge> {
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
        // The main of a test harness waits for the end of the test, in every deadlock.
        let is_of_test = |number: &u16| !self.main_last || *number != 0;
        let has_others = members.iter().any(is_of_test);
        members
            .into_iter()
            .filter(|number| !has_others || is_of_test(number))
            .filter_map(|number| {
                let task = tasks.get(usize::from(number))?;
                Some(WaitEdge {
                    task: TaskId(number),
                    object: task.object.checked_sub(1),
                    holder: (task.holder != NO_TASK).then_some(TaskId(task.holder as u16)),
                    site: Some(self.user_site(task, memory)),
                })
            })
            .collect()
    }
}

const UNKNOWN: Site = Site { module: 0, offset: 0 };

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

/// The location in the message of a Rust panic: `src/queue.rs:41:9` becomes `queue.rs:41`.
fn panicked_at(message: &str) -> Option<String> {
    let (_, rest) = message.split_once(" panicked at ")?;
    let (file, rest) = rest.split_once(".rs:")?;
    let line = rest.split_once(':')?.0;
    let plain = !file.contains(['\'', '"', ' ']) && line.bytes().all(|byte| byte.is_ascii_digit());
    let own = plain && !symbols::is_library(&format!("{file}.rs"));
    own.then(|| format!("{}.rs:{line}", file.rsplit('/').next().unwrap_or_default()))
}

/// The location in the message of a failed check of a test framework: `src/queue_test.cpp:41: Expected ...`
/// becomes `queue_test.cpp:41`.
fn checked_at(message: &str) -> Option<String> {
    let (file, rest) = message.split_once(':')?;
    let (line, _) = rest.split_once(": ")?;
    let is_line = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    is_line.then(|| format!("{}:{line}", file.rsplit('/').next().unwrap_or_default()))
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

/// The frames of one site, rotated so that the first user frame comes first: in C++ and Rust a lock
/// is called from inlined library code.
fn user_frames_first(mut frames: Vec<Frame>) -> Vec<Frame> {
    if let Some(at) = frames.iter().position(is_user_frame) {
        frames.rotate_left(at);
    }
    frames
}

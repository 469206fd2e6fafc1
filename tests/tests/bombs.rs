//! Small trace files that describe a lot. Every view of them is done, or refused in one
//! line, within the stated memory and processor time.
//!
//! `HEDDLE_BOMBS=all` uses the default limits and every view, which takes minutes. `HEDDLE_BOMBS=10` makes
//! ten of each kind, with other sizes, and looks at them in every view; `HEDDLE_BOMBS=4..6` takes three of
//! these ten, for runs in several parts.

use libc::rusage;
use search::rng::Rng;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;
use tests::heddle::Home;
use traces::execution::{AsyncChange, AsyncTask, DeadlineNote, Pending};
use traces::file::encode;
use traces::memory_change::{MemoryChange, MemoryLocation};
use traces::points::ModuleAddress;
use traces::predicate::{Predicate, Purpose};
use traces::{
    EnabledChange, Execution, Failure, FailureKind, Frame, HistoryEvent, Module, Object,
    ObjectKind, ObjectLocation, Operation, Site, Step, TaskId, TaskRecord, TaskStack, TaskState,
    Trace, WaitEdge,
};

fn step(task: u16, operation: Operation, object: Option<u32>, offset: u64) -> Step {
    Step { task: TaskId(task), operation, object, site: Site { module: 0, offset }, value: 0 }
}

fn change(step: u64, task: u16, enabled: bool) -> EnabledChange {
    EnabledChange { step, task: TaskId(task), enabled }
}

fn failure() -> Failure {
    Failure {
        kind: FailureKind::Deadlock,
        signature: "s".into(),
        message: "m".into(),
        task: None,
        site: None,
        place: String::new(),
        waits: Vec::new(),
        stacks: Vec::new(),
        past: Vec::new(),
    }
}

fn trace(tasks: usize, objects: u32, steps: Vec<Step>) -> Trace {
    let object = |number| Object {
        kind: ObjectKind::Mutex,
        place: ObjectLocation::Other(number),
        name: "m".into(),
    };
    let execution = Execution {
        tasks: vec![TaskRecord::default(); tasks],
        modules: vec![Module { path: "/p".into(), build_id: "ab".into() }],
        objects: (0..objects).map(object).collect(),
        steps,
        ..Default::default()
    };
    Trace { execution, failure: Some(failure()), ..Default::default() }
}

/// Steps of alternating tasks on one object: each learns of all others.
fn contention(tasks: u16, steps: u64) -> Vec<Step> {
    (0..steps)
        .map(|at| step((at % u64::from(tasks)) as u16, Operation::Update, Some(0), 8))
        .collect()
}

fn frames(count: usize, function: &str) -> Vec<Frame> {
    vec![Frame { function: function.into(), file: "f.c".into(), ..Default::default() }; count]
}

/// The sizes of a bomb: those in the table, or random ones below them.
struct Sizes(Option<Rng>);

impl Sizes {
    fn of(&mut self, most: u32) -> u64 {
        let Some(rng) = &mut self.0 else { return most.into() };
        let least = most / 8 + 2;
        (least + rng.below((most - least).max(1))).into()
    }
}

/// Traces that are small as files, and what each has too much of.
fn bombs(mut sizes: Sizes) -> Vec<(&'static str, Trace)> {
    let mut size = |most| sizes.of(most);
    let wait = |task: u64, holder: u64| WaitEdge {
        task: TaskId(task as u16),
        object: Some(0),
        holder: Some(TaskId(holder as u16)),
        site: None,
    };
    let one = || step(0, Operation::Yield, None, 8);
    let ones = |number: u64| vec![one(); number as usize];
    let mut all = vec![
        ("steps", trace(1, 1, ones(size(4_000_000)))),
        ("switches", trace(6, 1, contention(6, size(4_000_000)))),
        ("tasks", trace(size(60_000) as usize, 1, ones(10))),
        ("clocks", trace(2_000, 1, contention(2_000, size(40_000)))),
        ("objects", trace(1, size(200_000) as u32, ones(10))),
    ];
    let changes = size(8_000_000);
    let mut enabled = trace(1, 1, ones(changes / 2));
    enabled.execution.enabled = (0..changes).map(|at| change(at / 2, 0, at % 2 == 0)).collect();
    all.push(("enabled changes", enabled));
    let tasks = size(4_000);
    let mut sets = trace(tasks as usize, 1, ones(size(400_000)));
    sets.execution.enabled = (0..tasks).map(|task| change(0, task as u16, true)).collect();
    all.push(("enabled sets", sets));
    let tasks = size(4_000);
    let mut waits = trace(tasks as usize, 1, ones(10));
    waits.failure.as_mut().unwrap().waits =
        (0..size(300_000)).map(|at| wait(at % tasks, 1)).collect();
    all.push(("waits", waits));
    let tasks = size(4_000);
    let mut chain = trace(tasks as usize, 1, contention(tasks as u16, size(1_000_000)));
    chain.failure.as_mut().unwrap().waits = (0..tasks - 1).map(|at| wait(at, at + 1)).collect();
    all.push(("a chain of waits", chain));
    let stepped = (0..size(500_000)).map(|at| step(0, Operation::Yield, None, at + 8)).collect();
    let mut sites = trace(1, 1, stepped);
    sites.execution.places = (0..size(300_000))
        .map(|at| (Site { module: 0, offset: 1 << 40 | at }, Vec::new()))
        .collect();
    all.push(("sites", sites));
    let mut choices = trace(1, 1, vec![step(0, Operation::Signal, Some(0), 8); 10]);
    choices.execution.data =
        vec![traces::execution::DataChoice { step: 3, taken: 1, of: 2 }; size(4_000_000) as usize];
    all.push(("data choices", choices));
    let tasks = size(4_000);
    let mut stacks = trace(tasks as usize, 1, contention(2, 10));
    let stack = |task| TaskStack {
        task: TaskId(task as u16),
        state: TaskState::Blocked("x".repeat(100)),
        frames: frames(60, "f"),
    };
    stacks.failure.as_mut().unwrap().stacks = (0..tasks).map(stack).collect();
    all.push(("stacks", stacks));
    let mut past = trace(4, 1_000, contention(2, 10));
    let event = |_| HistoryEvent {
        what: "w".into(),
        task: TaskId(0),
        step: 1,
        frames: frames(4, "f"),
        locks: (0..1_000).collect(),
    };
    past.failure.as_mut().unwrap().kind = FailureKind::Race;
    past.failure.as_mut().unwrap().past = (0..size(10_000)).map(event).collect();
    all.push(("past events", past));
    let mut name = trace(2, 1, contention(2, 200_000));
    name.execution.objects[0].name = "\u{9b}".repeat(size(8 << 20) as usize);
    all.push(("a long name", name));
    let mut output = trace(1, 1, contention(1, 10));
    output.output = vec![0x1b; size(30 << 20) as usize];
    all.push(("output", output));
    all.extend(surroundings(&mut size));
    all
}

/// Traces that have too much besides the execution.
fn surroundings(size: &mut dyn FnMut(u32) -> u64) -> Vec<(&'static str, Trace)> {
    let small = || trace(2, 1, contention(2, 10));
    let mut all = Vec::new();
    let mut add = |name, change: &mut dyn FnMut(&mut Trace)| {
        let mut trace = small();
        change(&mut trace);
        all.push((name, trace));
    };
    let (number, long) = (size(1_000_000), size(8 << 20) as usize);
    let names = || (0..number).map(|at| format!("N{at}"));
    add("arguments", &mut |of| of.header.args = vec![vec![0x1b]; number as usize]);
    add("an argument", &mut |of| of.header.args = vec![vec![0xff; long]]);
    add("variables", &mut |of| {
        of.header.env = names().map(|name| (name.into_bytes(), vec![0x1b])).collect();
    });
    add("names of variables", &mut |of| {
        (of.header.left_out, of.header.unread) = (names().collect(), names().collect());
    });
    add("learned points", &mut |of| {
        of.header.options.learned.sites =
            (0..number).map(|offset| ModuleAddress { module: 0, offset }).collect();
    });
    add("modules", &mut |of| {
        let path = |at| Module { path: format!("/{at}"), build_id: "ab".into() };
        of.execution.modules = (0..number / 61).map(path).collect();
    });
    add("names of tasks", &mut |of| {
        let name = "\u{9b}".repeat(long / 4_000);
        let task = TaskRecord { name: name.clone(), function: name, ..Default::default() };
        of.execution.tasks = vec![task; 4_000];
    });
    add("deadlines", &mut |of| {
        let late = |at| DeadlineNote { step: at % 10, preempts: true, late: Some((TaskId(1), at)) };
        of.execution.deadlines = (0..number).map(late).collect();
    });
    add("asynchronous tasks", &mut |of| {
        let name = "\u{9b}".repeat(long / 4_000);
        of.execution.async_tasks =
            (1..=4_000).map(|id| AsyncTask { id, name: name.clone() }).collect();
        let change = |step| AsyncChange { step, task: TaskId(1), id: 1 + step % 4_000 };
        of.execution.async_changes = (0..10).map(change).collect();
    });
    add("a message", &mut |of| {
        let failure = of.failure.as_mut().unwrap();
        failure.message = "\u{1b}\n".repeat(long);
        (failure.signature, failure.place) = (failure.message.clone(), failure.message.clone());
    });
    add("frames", &mut |of| {
        let frames = frames(number as usize / 4, &"f<".repeat(40));
        of.execution.places = vec![(Site { module: 0, offset: 8 }, frames.clone())];
        let (task, state) = (TaskId(0), TaskState::Running);
        of.failure.as_mut().unwrap().stacks = vec![TaskStack { task, state, frames }];
    });
    add("brackets", &mut |of| {
        of.execution.objects[0].name = "a<(".repeat(long / 8);
        of.execution.tasks[1].function = "operator<(".repeat(long / 16);
    });
    add("parents", &mut |of| {
        let task = |at: u16| TaskRecord {
            parent: Some(TaskId((at + 1) % 4_000)),
            function: "f".repeat(100),
            ..Default::default()
        };
        of.execution.tasks = (0..4_000).map(task).collect();
    });
    add("a circle of waits", &mut |of| {
        of.execution.tasks = vec![TaskRecord::default(); 4_000];
        let wait = |at: u64| WaitEdge {
            task: TaskId((at % 4_000) as u16),
            object: Some((at % 2) as u32 * u32::MAX),
            holder: Some(TaskId((at * 7 % 4_000) as u16)),
            site: Some(Site { module: u16::MAX, offset: u64::MAX }),
        };
        of.failure.as_mut().unwrap().waits = (0..16_000).map(wait).collect();
    });
    add("pending operations", &mut |of| {
        let pending = Pending {
            operation: Operation::Lock,
            object: Some(0),
            site: Site { module: 0, offset: 8 },
            blocked: true,
        };
        let task = TaskRecord { pending: Some(pending), ..Default::default() };
        of.execution.tasks = vec![task; 4_000];
        of.execution.steps = contention(4_000, number);
    });
    add("far steps", &mut |of| {
        let late = Some((TaskId(u16::MAX), u64::MAX));
        of.execution.deadlines = vec![DeadlineNote { step: u64::MAX, preempts: true, late }; 9];
        of.execution.enabled = vec![change(u64::MAX, u16::MAX, true); number as usize];
        of.execution.data =
            vec![traces::execution::DataChoice { step: u64::MAX, taken: 1, of: u32::MAX }; 9];
    });
    add("choices of many", &mut |of| {
        of.execution.steps = vec![step(0, Operation::Signal, Some(0), 8); number as usize];
        let choice = |at| traces::execution::DataChoice { step: at, taken: 3, of: u32::MAX };
        of.execution.data = (0..number).map(choice).collect();
    });
    add("memory changes", &mut |of| {
        let change = |at| MemoryChange {
            step: at % 9,
            at: MemoryLocation::Stack { task: u16::MAX, below: u64::MAX },
            bytes: vec![0x1b; 4_096],
            name: "\u{9b}".repeat(100),
        };
        of.header.options.changes = (0..number / 100).map(change).collect();
    });
    add("predicates", &mut |of| {
        let text = "(".repeat(long / 100);
        let predicate = |_| Predicate {
            text: text.clone(),
            roles: Vec::new(),
            slots: Vec::new(),
            condition: vec![0x28; 1_000],
            shared: vec![vec![0x28; 10]; 100],
            purpose: Purpose::default(),
            until: vec![0x27; 10],
        };
        of.header.options.predicates = (0..number / 2_000).map(predicate).collect();
    });
    add("sources", &mut |of| {
        let named = |at| Frame {
            function: "f".into(),
            file: ["/dev/zero", "/dev/tty", "/proc/self/maps", "/"][at as usize % 4].into(),
            line: u32::MAX - at as u32,
            ..Default::default()
        };
        of.execution.places = (0..number / 8)
            .map(|at| (Site { module: 0, offset: at }, vec![named(at); 2]))
            .collect();
    });
    add("a path", &mut |of| {
        of.header.program = "/\u{202e}".repeat(long / 4);
        of.header.cwd = of.header.program.clone();
    });
    all
}

/// What a command used: the exit status, the most memory in bytes, the processor time, and standard
/// error.
struct Used {
    status: Option<i32>,
    memory: u64,
    time: Duration,
    stderr: String,
}

fn wait(mut child: Child) -> Used {
    use std::io::Read;
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
    let mut status = 0;
    // SAFETY: zeros are a valid `rusage`; the call writes the two locals.
    let usage = unsafe {
        let mut usage: rusage = std::mem::zeroed();
        let waited = libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage);
        assert_eq!(waited, child.id() as i32);
        usage
    };
    let time =
        |time: libc::timeval| Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec as u32 * 1000);
    Used {
        status: std::process::ExitStatus::from_raw(status).code(),
        memory: usage.ru_maxrss.unsigned_abs() * 1024,
        time: time(usage.ru_utime) + time(usage.ru_stime),
        stderr,
    }
}

const VIEWS: &[&[&str]] = &[
    &["show"],
    &["show", "--list", "--enabled"],
    &["show", "--list", "--fold"],
    &["show", "--json"],
    &["show", "--at", "end"],
    &["show", "--output", "--steps", "5..9"],
    &["export", "--format", "json"],
    &["export", "--format", "chrome"],
    &["export", "--format", "dot"],
    &["export", "--format", "shiviz"],
    &["export", "--format", "svg"],
    &["explain", "--as-is"],
    &["explain", "--as-is", "--json"],
    &["diff"],
];

/// Forgets this process's peak. A process that is started inherits the peak of its parent, in which it
/// begins.
fn forget_peak() {
    // SAFETY: the call takes a number, and only returns unused memory to the system.
    unsafe { libc::malloc_trim(0) };
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
}

/// The memory that a command may use besides what its limit counts: the pages that the allocator cannot
/// give back, because a part of them is used.
const BASE: u64 = 32 << 20;

/// Which variants of each bomb (0 has the sizes of the table), whether every view is checked, and the
/// limits.
struct Extent {
    variants: std::ops::RangeInclusive<u64>,
    all_views: bool,
    megabytes: u64,
    seconds: u64,
}

fn extent() -> Extent {
    let strict = |variants, all_views| Extent { variants, all_views, megabytes: 512, seconds: 1 };
    match std::env::var("HEDDLE_BOMBS").ok().as_deref() {
        None => strict(0..=0, false),
        Some("all") => Extent { variants: 0..=0, all_views: true, megabytes: 1024, seconds: 10 },
        Some(text) => {
            let (first, last) = text.split_once("..").unwrap_or(("0", text));
            let number =
                |text: &str| text.parse().expect("HEDDLE_BOMBS is `all`, a number or a range");
            strict(number(first)..=number(last), true)
        }
    }
}

#[test]
fn small_hostile_traces_cost_no_gigabytes_and_no_minutes() {
    let home = Home::new();
    let Extent { variants, all_views, megabytes, seconds } = extent();
    let limits = [format!("{seconds}s"), format!("{megabytes}M")];
    let (mut done, mut refused) = (0, 0);
    for variant in variants {
        let sizes = Sizes((variant > 0).then(|| Rng::new(variant, 0)));
        // All traces are written, and given back, before memory is measured.
        let written = |(number, (name, trace)): (usize, (&'static str, Trace))| {
            let path: PathBuf = home.path().join(format!("{number}.heddle"));
            let bytes = encode(&trace, None);
            std::fs::write(&path, &bytes).expect("a file");
            (name, path, bytes.len())
        };
        let files: Vec<_> = bombs(sizes).into_iter().enumerate().map(written).collect();
        for (number, (name, path, bytes)) in files.into_iter().enumerate() {
            let chosen = VIEWS.iter().enumerate();
            for (view, args) in chosen.filter(|(view, _)| all_views || (view + number) % 5 == 0) {
                let path: &Path = &path;
                let mut command =
                    home.command(args.iter().map(|arg| arg.as_ref()).chain([path.as_os_str()]));
                if args[0] == "diff" {
                    command.arg(path);
                }
                command.args(["--max-time", &limits[0], "--max-memory", &limits[1]]);
                command.stdout(Stdio::null());
                forget_peak();
                let used = wait(command.spawn().expect("it starts"));
                let what = format!("{name} {variant} ({bytes} bytes), view {view} {args:?}");
                println!(
                    "{what}: status {:?}, {} MB, {:.1} s {}",
                    used.status,
                    used.memory >> 20,
                    used.time.as_secs_f64(),
                    used.stderr.trim_end()
                );
                match used.status {
                    Some(0) => done += 1,
                    Some(2) => {
                        refused += 1;
                        assert_eq!(used.stderr.lines().count(), 1, "{what}: {}", used.stderr);
                    }
                    _ => panic!("{what}: {:?}: {}", used.status, used.stderr),
                }
                let most = (megabytes << 20) + BASE;
                assert!(used.memory < most, "{what}: {} MB", used.memory >> 20);
                // The clock is read fifty times a second, and a busy machine may delay that.
                assert!(used.time < Duration::from_secs(3 * seconds), "{what}: {:?}", used.time);
            }
        }
    }
    println!("{done} done, {refused} refused");
    // How many are refused depends on the limit on time, which is short here.
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
}

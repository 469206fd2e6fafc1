//! Random small programs with timers, whose expirations are counted, call a function, or send a signal that tasks
//! wait for or handle.

use super::program::{At, Code, Compare, Notice, Program, Value, Wanted};
use super::programs;
use super::timed::Timed;
use crate::rng::Rng;
use crate::time::{SECOND, Slack};

/// The variable that holds what tasks found last.
const RESULT: At = At(2, None);
const SEMAPHORE: usize = 3;
/// The variable that is the first timer's descriptor; the second's is the next.
const DESCRIPTOR: usize = 4;
/// The variable that counts the calls of a function which disarms its timer.
const CALLS: At = At(6, None);

/// What the tasks of a program may do.
struct Theme {
    timers: Vec<Notice>,
    periodic: Vec<bool>,
    /// Whether the function that the timer calls disarms it.
    stops_itself: bool,
    /// Whether workers may disarm the timer, or arm it again.
    workers_stop: bool,
    handler: Vec<Code>,
    workers: usize,
}

impl Theme {
    fn new(rng: &mut Rng) -> Theme {
        let workers = 1 + rng.below(3).min(1) as usize;
        let to = match rng.below(2) {
            0 => Notice::Process,
            _ => Notice::Task(1 + rng.below(workers as u32) as usize),
        };
        let counts = |number| Notice::Count(DESCRIPTOR + number);
        let kind = rng.below(8);
        let timers = match kind {
            0 | 1 => vec![counts(0)],
            2 => vec![Notice::Call],
            3 => vec![Notice::Process],
            4 => vec![counts(0), if rng.below(2) == 0 { counts(1) } else { Notice::Call }],
            5 => vec![counts(0), Notice::Process],
            _ => vec![to],
        };
        let mut theme = Theme {
            periodic: timers.iter().map(|_| rng.below(4) > 0).collect(),
            timers,
            stops_itself: rng.below(3) == 0,
            workers_stop: rng.below(4) == 0,
            handler: Vec::new(),
            workers,
        };
        if kind >= 6 {
            let stops = theme.workers_stop.then_some(Code::Disarm(0));
            theme.handler.extend(stops.filter(|_| rng.below(2) == 0));
            match rng.below(3) {
                0 => theme.handler.push(Code::Post(SEMAPHORE)),
                1 => theme.handler.push(Code::Store(At(0, None), Value::Is(5))),
                _ => theme
                    .handler
                    .extend([Code::Store(At(1, None), Value::Is(5)), Code::Post(SEMAPHORE)]),
            }
        }
        theme
    }

    /// Whether a task that waits for the timer without a time limit leaves no other timer that expires without end:
    /// the timer expires until the tasks have ended, or it is the only one.
    fn may_wait_for(&self, timer: usize) -> bool {
        let stops = self.workers_stop || self.stops_itself && self.timers[timer] == Notice::Call;
        self.timers.len() == 1 || self.periodic[timer] && !stops
    }

    /// Whether the timers expire a finite number of times however late tasks may be.
    fn is_finite(&self) -> bool {
        let stops = |timer: usize| self.stops_itself && self.timers[timer] == Notice::Call;
        (0..self.timers.len()).all(|timer| !self.periodic[timer] || stops(timer))
    }
}

fn limit(rng: &mut Rng) -> u64 {
    [SECOND / 5, SECOND / 2, SECOND, 3 * SECOND / 2][rng.below(4) as usize]
}

/// A program, and whether it is finite if any delay is possible.
fn program(rng: &mut Rng) -> (Program, bool) {
    let theme = Theme::new(rng);
    let workers = theme.workers;
    let mut tasks = workers;
    // The tasks of timers, and the instructions that arm them.
    let mut expiring = Vec::new();
    let mut arm = |rng: &mut Rng, timer: usize, periodic: bool| {
        tasks += 1;
        let first = limit(rng);
        let interval =
            if periodic { [first, SECOND / 2, SECOND][rng.below(3) as usize] } else { 0 };
        expiring.push(timer);
        [Code::Arm(timer, tasks, [first, interval]), Code::Create(tasks)]
    };
    let mut arming: Vec<Code> = Vec::new();
    for timer in 0..theme.timers.len() {
        arming.extend(arm(rng, timer, theme.periodic[timer]));
    }
    // A timer for a task's signal is armed when the task exists.
    let arms_late = match theme.timers[0] {
        Notice::Task(1) => 1 + rng.below(2),
        Notice::Task(_) => 1,
        _ => rng.below(3),
    };
    let mut bodies = Vec::new();
    for worker in 1..=workers {
        let mut code = Vec::new();
        if arms_late == 2 && worker == 1 {
            code.extend(arming.iter());
        }
        for _ in 0..1 + rng.below(3) {
            statement(rng, &theme, worker, &mut code);
            if theme.workers_stop && rng.below(3) == 0 {
                match rng.below(2) {
                    0 => code.push(Code::Disarm(0)),
                    _ => code.extend(arm(rng, 0, false)),
                }
            }
        }
        bodies.push(code);
    }
    for &timer in &expiring {
        bodies.push(expiration(rng, &theme, timer));
    }
    let numbers = (0..bodies.len()).map(|body| (body, 0)).collect();
    let mut program = programs::with(bodies, numbers, vec![0; 7], 1, &[]);
    let mut main: Vec<Code> = (1..=workers).map(Code::Create).collect();
    match arms_late {
        0 => drop(main.splice(0..0, arming)),
        1 => main.extend(arming),
        _ => {}
    }
    main.extend((1..=workers).map(Code::Join));
    if rng.below(2) == 0 || theme.is_finite() {
        main.extend((0..theme.timers.len()).map(Code::Disarm));
    }
    if !matches!(main.last(), Some(Code::Disarm(_))) || rng.below(2) == 0 {
        main.push(Code::Exit);
    }
    main.push(Code::End);
    program.code[0] = main;
    program.timers.clone_from(&theme.timers);
    program.restarts = rng.below(2) == 0;
    if !theme.handler.is_empty() {
        program.handler = Some(program.code.len());
        program.code.push([&theme.handler[..], &[Code::End]].concat());
    }
    (program, theme.is_finite())
}

/// The code of a timer's task.
fn expiration(rng: &mut Rng, theme: &Theme, timer: usize) -> Vec<Code> {
    let mut code = vec![Code::Expire(timer)];
    if theme.timers[timer] == Notice::Call {
        if theme.stops_itself {
            code.extend([
                Code::FetchAdd(1, CALLS, Value::Is(1)),
                Code::If(Value::Register(1), Compare::Less, Value::Is(1), 4),
                Code::Disarm(timer),
            ]);
        }
        match rng.below(3) {
            0 => {}
            1 => code.push(Code::Store(At(0, None), Value::Is(4))),
            _ => code.extend([
                Code::Lock(At(0, None)),
                Code::Store(At(0, None), Value::Is(4)),
                Code::Unlock(At(0, None)),
            ]),
        }
        code.push(Code::Post(SEMAPHORE));
    }
    code.push(Code::Again);
    code
}

/// Adds something that a worker does.
fn statement(rng: &mut Rng, theme: &Theme, worker: usize, code: &mut Vec<Code>) {
    let here = At(rng.below(2) as usize, None);
    let value = Value::Is(1 + i64::from(rng.below(2)));
    let mutex = At(0, None);
    match rng.below(8) {
        0 => code.push(Code::Load(1, here)),
        1 => code.push(Code::Store(here, value)),
        2 => code.push(Code::Sleep(limit(rng))),
        3 => {
            code.push(Code::Lock(mutex));
            if rng.below(2) == 0 {
                code.push(Code::Sleep(limit(rng)));
            }
            code.extend([Code::Store(here, value), Code::Unlock(mutex)]);
        }
        _ => wait(rng, theme, worker, code),
    }
}

/// Adds a wait for what a timer does.
fn wait(rng: &mut Rng, theme: &Theme, worker: usize, code: &mut Vec<Code>) {
    let timer = rng.below(theme.timers.len() as u32) as usize;
    let limit = Some(limit(rng)).filter(|_| !theme.may_wait_for(timer) || rng.below(3) == 0);
    let handles = !theme.handler.is_empty();
    let posts = theme.handler.contains(&Code::Post(SEMAPHORE));
    match theme.timers[timer] {
        Notice::Count(count) => {
            let wanted = |takes| Wanted { register: 1, of: [count; 2], takes, limit };
            code.push(match rng.below(3) {
                0 => Code::ReadNow(1, count),
                _ if limit.is_some() => Code::Ready(wanted(false)),
                1 => Code::Ready(wanted(false)),
                _ => Code::Ready(wanted(true)),
            });
            code.push(Code::Store(RESULT, Value::Register(1)));
        }
        Notice::Task(to) if to == worker && limit.is_none() && rng.below(2) == 0 => {
            code.push(Code::Pause);
        }
        Notice::Process if !handles => {
            code.push(Code::SignalWait(2, limit));
            code.push(Code::Store(RESULT, Value::Register(2)));
        }
        notice => match limit {
            // A task that has ended handles no signal.
            None if !handles
                || posts && [Notice::Process, Notice::Task(worker)].contains(&notice) =>
            {
                code.push(Code::Take(SEMAPHORE))
            }
            limit => {
                let limit = limit.unwrap_or(SECOND / 2);
                code.push(Code::TimedTake(2, SEMAPHORE, limit));
                code.push(Code::Store(RESULT, Value::Register(2)));
            }
        },
    }
}

/// The most steps that an execution of the program may have.
///
/// No task's clock is further than the slack after the base. So each wait moves the base by at most its limit, or the
/// time until a timer expires, and the slack; and no timer expires later than the slack after the base.
fn most_steps(program: &Program, slack: u64) -> u64 {
    let all = || program.code.iter().flatten();
    let mut longest = 0;
    let mut shortest = u64::MAX;
    for code in all() {
        if let Code::Arm(_, _, [first, interval]) = *code {
            longest = longest.max(first + interval);
            shortest = shortest.min(if interval > 0 { interval } else { u64::MAX });
        }
    }
    let time: u64 = all()
        .map(|code| match *code {
            Code::Sleep(limit)
            | Code::TimedTake(_, _, limit)
            | Code::SignalWait(_, Some(limit))
            | Code::Ready(Wanted { limit: Some(limit), .. }) => limit + slack,
            Code::Ready(_) | Code::Take(_) | Code::SignalWait(..) | Code::Pause => longest + slack,
            _ => 0,
        })
        .sum();
    let expirations = 1 + (time + longest + slack) / shortest;
    let steps = |code: &Vec<Code>| code.len() as u64;
    let is_timers = |code: &&Vec<Code>| matches!(code[0], Code::Expire(_));
    let of_timers: u64 = program.code.iter().filter(is_timers).map(steps).sum();
    let of_handler = program.handler.map_or(0, |handler| 1 + steps(&program.code[handler]));
    let own: u64 = program.code.iter().map(|code| 1 + steps(code)).sum();
    let timers = program.code.iter().filter(is_timers).count() as u64;
    own + expirations * (of_timers + timers * of_handler)
}

/// Program number `number` of a seed with all its classes. None if it has too many schedules, or would not end
/// with this slack. An execution with more steps than the program's bound is cut.
#[must_use]
pub fn timed(seed: u64, number: u64, slack: Slack) -> Option<Timed> {
    let (program, is_finite) = program(&mut Rng::new(seed, number));
    let max_steps = match slack {
        Some(slack) => most_steps(&program, slack),
        None if is_finite => most_steps(&program, 3 * SECOND),
        None => return None,
    };
    Timed::of(Program { slack, max_steps, ..program })
}

#[cfg(test)]
mod tests;

//! Random programs.
//!
//! A body is a list of fragments, each a use of the primitives as it occurs in real programs,
//! correct or slightly wrong: a critical section, a wait with or without a predicate loop, a
//! try-lock, a non-atomic update. The kinds of fragments are drawn once for a program, so that its
//! tasks interact.

use super::program::{
    Call, Comparison, Handler, Limit, MutexKind, Operand, Program, Statement, Test, Value, Variable,
};
use search::rng::Rng;

mod fragment;

/// The kind of a part of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fragment {
    Critical,
    Nested,
    Try,
    Consume,
    Produce,
    Acquire,
    TryAcquire,
    Post,
    Torn,
    Yield,
    Branch,
    Repeat,
    Reading,
    Writing,
    TryReading,
    TryWriting,
    Meeting,
    Spinning,
    TrySpinning,
    TimedCritical,
    TimedConsume,
    TimedAcquire,
    TimedReading,
    TimedWriting,
    Robust,
    Guarded,
    GuardedConsume,
    Cancel,
    TestCancel,
    Kill,
    Sleep,
    Rouse,
    Requeue,
    Once,
}

use Fragment::*;

/// Sets of fragments that are useful together. A kind listed twice is twice as likely.
const PLAIN: [&[Fragment]; 9] = [
    &[Critical, Critical, Nested, Nested, Try, Torn, Branch],
    &[Consume, Consume, Produce, Produce, Produce, Critical],
    &[Consume, Consume, Produce, Produce, Try, Torn, Yield, Post, Acquire],
    &[Acquire, Acquire, Post, Post, TryAcquire, Torn, Yield],
    &[Acquire, Post, Critical, Nested, Branch, Repeat],
    &[
        Critical, Nested, Try, Consume, Produce, Acquire, TryAcquire, Post, Torn, Yield, Branch,
        Repeat,
    ],
    &[Reading, Reading, Reading, Writing, Writing, TryReading, TryWriting, Torn],
    &[Meeting, Meeting, Critical, Spinning, Torn, Yield],
    &[Reading, Writing, Writing, Spinning, Nested, Acquire, Post, Branch],
];

/// Sets of fragments for the rest of the API.
const OTHERS: [&[Fragment]; 9] = [
    &[TimedCritical, TimedCritical, Nested, Critical, Torn, Branch, Once],
    &[TimedConsume, TimedConsume, Consume, Produce, Produce, Critical],
    &[TimedAcquire, TimedAcquire, Acquire, Post, Post, Torn, Once],
    &[TimedReading, TimedWriting, Reading, Writing, TryWriting, Torn],
    &[Robust, Robust, Robust, Robust, Critical, Try, TimedCritical, Torn],
    &[Sleep, Sleep, Rouse, Rouse, Requeue, Torn, Yield],
    &[Cancel, Cancel, Acquire, TimedAcquire, TestCancel, Critical, Guarded, Guarded, Post],
    &[Cancel, GuardedConsume, GuardedConsume, Produce, Produce, TestCancel],
    &[Kill, Kill, Acquire, TimedAcquire, Sleep, Rouse, Writing, Reading, TrySpinning, Torn],
];

struct Generator<'r> {
    rng: &'r mut Rng,
    program: Program,
    fragments: &'static [Fragment],
    whole: bool,
    /// The mutex used with each condition variable.
    mutex_of: Vec<u8>,
    /// The mutexes held at this point of the body, if every earlier branch was taken.
    held: Vec<u8>,
    /// The number of visible operations that the body may still get.
    left: i32,
}

/// Draws a program with the whole API or with its plain parts. It may turn out to be unusable.
pub(super) fn program(rng: &mut Rng, whole: bool) -> Program {
    let spawned = [1, 2, 2, 2, 3, 3][rng.below(6) as usize];
    let themes = if whole && rng.below(2) == 0 { &OTHERS } else { &PLAIN };
    let fragments = themes[rng.below(themes.len() as u32) as usize];
    let uses = |which: &[Fragment]| fragments.iter().any(|fragment| which.contains(fragment));
    let mut program = Program {
        moduli: [vec![101], vec![11, 11], vec![11, 11], vec![5, 4, 6]][rng.below(4) as usize]
            .clone(),
        handles: spawned,
        ..Default::default()
    };
    if uses(&[Critical, Nested, Try, Consume, Produce, TimedCritical, Guarded]) {
        for _ in 0..1 + rng.below(2) {
            program.mutexes.push(match rng.below(if whole { 12 } else { 8 }) {
                0 => MutexKind::Recursive,
                1 => MutexKind::ErrorChecking,
                2 if whole => MutexKind::Adaptive,
                3 if whole => MutexKind::Inheriting,
                _ => MutexKind::Normal,
            });
        }
    }
    if uses(&[Robust]) {
        program.mutexes.fill(MutexKind::Robust);
    }
    let mut mutex_of = Vec::new();
    if uses(&[Consume, Produce, TimedConsume, GuardedConsume]) {
        program.conditions = 1 + u8::from(rng.below(5) == 0);
        let mutexes = program.mutexes.len() as u32;
        mutex_of = (0..program.conditions).map(|_| rng.below(mutexes) as u8).collect();
    }
    if uses(&[Acquire, TryAcquire, TimedAcquire, Post]) {
        for _ in 0..1 + u32::from(rng.below(3) == 0) {
            program.semaphores.push([0, 0, 1, 1, 2][rng.below(5) as usize]);
        }
    }
    if uses(&[Reading, Writing]) {
        for _ in 0..1 + u32::from(rng.below(4) == 0) {
            program.rwlocks.push(rng.below(2) == 0);
        }
    }
    if uses(&[Meeting]) {
        program.barriers.push([2, 2, 2, spawned, spawned + 1][rng.below(5) as usize].max(1));
    }
    if uses(&[Spinning, TrySpinning]) {
        program.spins = 1 + u8::from(rng.below(4) == 0);
    }
    if uses(&[Requeue]) {
        // Moves waiters from one word to another.
        program.moduli = vec![11, 11];
    }
    let mut assigns = || {
        let to = Variable::Shared(rng.below(program.moduli.len() as u32) as u8);
        let (of, plus) = (Operand::Variable(to), Operand::Constant(1 + rng.below(3) as i32));
        (to, Value { factor: 1 + rng.below(2) as i32, of, plus })
    };
    if uses(&[Once]) {
        program.onces.push(assigns());
    }
    if uses(&[Kill]) {
        let (to, value) = assigns();
        program.handler = Some(Handler { restarts: rng.below(3) == 0, to, value });
    }
    let mut generator =
        Generator { rng, program, fragments, whole, mutex_of, held: Vec::new(), left: 0 };
    if generator.program.conditions > 0 && spawned > 1 && generator.one_in(2) {
        generator.crowd(spawned);
    } else {
        generator.bodies(spawned);
    }
    let c11 = whole && generator.one_in(3);
    generator.program.may_cancel = whole;
    generator.program.c11 = c11 && generator.program.fits_c11();
    generator.program
}

impl Generator<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        self.rng.below(bound)
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// All bodies: main creates the other tasks, does some work, and joins.
    fn bodies(&mut self, spawned: u8) {
        // Two tasks often have the same body.
        let alike = spawned > 1 && self.one_in(4);
        let distinct = spawned - u8::from(alike);
        self.program.bodies = vec![Vec::new()];
        for _ in 0..distinct {
            let budget = match spawned {
                1 => 3 + self.below(5),
                2 => 2 + self.below(4),
                _ => 1 + self.below(2),
            };
            let body = self.body(budget as i32);
            self.program.bodies.push(body);
        }
        let body_of = |handle: u8| 1 + handle.min(distinct - 1);
        // Sometimes the last one is created by the first.
        let nested = (spawned > 1 && self.one_in(8)).then_some(spawned - 1);
        let mut main = Vec::new();
        for handle in (0..spawned).filter(|&handle| Some(handle) != nested) {
            let create = Call::Create { handle, body: body_of(handle) };
            main.push(Statement::Call(create, None));
            if spawned < 3 && self.one_in(5) {
                main.extend(self.body(1));
            }
        }
        let most = if spawned < 3 { 7 } else { 4 };
        let budget = [0, 0, 0, 1, 1, 2, 3][self.below(most) as usize];
        main.extend(self.body(budget));
        let mut left: Vec<u8> = (0..spawned).collect();
        if self.one_in(4) {
            left.reverse();
        }
        if let Some(handle) = nested {
            let create = Call::Create { handle, body: body_of(handle) };
            let first = &mut self.program.bodies[1];
            let at = self.rng.below(first.len() as u32 + 1) as usize;
            first.insert(at, Statement::Call(create, None));
            // Main may join it only after joining the task that creates it, or its creator joins
            // it.
            left.retain(|&other| other != handle);
            match self.below(3) {
                0 => left.push(handle),
                1 => {
                    let call = self.pick(&[Call::Join { handle }, Call::Detach { handle }]);
                    self.program.bodies[1].push(Statement::Call(call, None));
                }
                _ => {}
            }
        }
        for handle in left {
            match self.below(16) {
                0 => {}
                1 => main.push(Statement::Call(Call::Detach { handle }, None)),
                2 => {
                    let test = self.test();
                    let join = Statement::Call(Call::Join { handle }, None);
                    main.push(Statement::If(test, vec![join], Vec::new()));
                }
                3 | 4 if self.whole => main.extend(self.joined_if_ended(handle)),
                _ => main.push(Statement::Call(Call::Join { handle }, None)),
            }
        }
        if self.one_in(5) {
            main.push(self.own_code());
        }
        self.program.bodies[0] = main;
    }

    /// A non-blocking join, usually with a use of its result.
    fn joined_if_ended(&mut self, handle: u8) -> Vec<Statement> {
        let limit = if self.one_in(2) { None } else { Some(self.limit()) };
        let local = self.below(2) as u8;
        let left = Variable::Local(local);
        let test = Test { left, comparison: Comparison::Equal, right: 0 };
        let join = Statement::Call(Call::Join { handle }, None);
        let otherwise = if self.one_in(4) { self.own_code() } else { join };
        let tried = Statement::Call(Call::TryJoin { handle, limit }, Some(local));
        vec![tried, Statement::If(test, vec![otherwise], Vec::new())]
    }

    fn limit(&mut self) -> Limit {
        self.pick(&[Limit::Unnamed, Limit::Realtime, Limit::Monotonic])
    }

    /// Several tasks wait for few signals: little else gives a signal a choice.
    fn crowd(&mut self, spawned: u8) {
        let alike = self.one_in(2);
        self.program.bodies = vec![Vec::new()];
        let mut main = Vec::new();
        for handle in 0..spawned {
            let body = if alike { 1 } else { 1 + handle };
            main.push(Statement::Call(Call::Create { handle, body }, None));
            if usize::from(body) == self.program.bodies.len() {
                self.held.clear();
                let mut waits = self.consume();
                // This distinguishes the tasks that were woken from the others.
                waits.insert(self.below(waits.len() as u32 + 1) as usize, self.own_code());
                self.program.bodies.push(waits);
            }
        }
        for _ in 0..1 + self.below(2) {
            self.held.clear();
            main.extend(self.produce());
        }
        // Tasks that are never signalled wait forever: rarely join all of them.
        let joined = self.below(u32::from(spawned) + 1) as u8;
        main.extend((0..joined).map(|handle| Statement::Call(Call::Join { handle }, None)));
        if self.one_in(2) {
            main.push(self.own_code());
        }
        self.program.bodies[0] = main;
    }

    fn body(&mut self, budget: i32) -> Vec<Statement> {
        self.left = budget;
        self.held.clear();
        let mut body = Vec::new();
        while self.left > 0 {
            if self.one_in(3) {
                body.push(self.own_code());
            }
            body.extend(self.fragment(2));
            if self.one_in(3) {
                body.push(self.own_code());
            }
        }
        body
    }

    fn shared(&mut self) -> Variable {
        Variable::Shared(self.below(self.program.moduli.len() as u32) as u8)
    }

    fn local(&mut self) -> Variable {
        Variable::Local(self.below(2) as u8)
    }

    fn test(&mut self) -> Test {
        let left = if self.one_in(3) { self.local() } else { self.shared() };
        let comparison = self.pick(&[Comparison::Equal, Comparison::NotEqual, Comparison::AtLeast]);
        let right = match comparison {
            Comparison::AtLeast => 1 + self.below(2),
            _ => self.below(3),
        };
        Test { left, comparison, right: right as i32 }
    }

    /// An assignment, or one that depends on a value.
    fn own_code(&mut self) -> Statement {
        let shared = self.shared();
        let local = self.local();
        let constant = 1 + self.below(3) as i32;
        match self.below(8) {
            0..3 => assign(shared, 1, shared, constant),
            3 => assign(shared, 2, shared, constant),
            4 => assign(local, 1, shared, 0),
            5 => assign(shared, 1, local, constant),
            6 => {
                let value = Value {
                    factor: 1,
                    of: Operand::Variable(shared),
                    plus: Operand::Variable(local),
                };
                Statement::Assign(shared, value)
            }
            _ => {
                let to = self.shared();
                Statement::If(self.test(), vec![assign(to, 3, to, constant)], Vec::new())
            }
        }
    }
}

/// `to = factor * of + plus`
fn assign(to: Variable, factor: i32, of: Variable, plus: i32) -> Statement {
    let value = Value { factor, of: Operand::Variable(of), plus: Operand::Constant(plus) };
    Statement::Assign(to, value)
}

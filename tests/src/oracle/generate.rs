//! Random programs.
//!
//! A body is a list of fragments, each a use of the primitives as one finds it in programs, right
//! or slightly wrong: a critical section, a wait with a predicate loop or without, a lock that is
//! tried, an update torn apart by an operation. What a fragment may be is drawn once for a program,
//! so that programs have a theme and their tasks have something to do with each other.

use super::program::{
    Call, Comparison, MutexKind, Operand, Program, Statement, Test, Value, Variable,
};
use search::rng::Rng;

/// What a stretch of a body does.
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
}

use Fragment::*;

/// Sets of fragments that make sense together. What stands twice is twice as likely.
const THEMES: [&[Fragment]; 6] = [
    &[Critical, Critical, Nested, Nested, Try, Torn, Branch],
    &[Consume, Consume, Produce, Produce, Produce, Critical],
    &[Consume, Consume, Produce, Produce, Try, Torn, Yield, Post, Acquire],
    &[Acquire, Acquire, Post, Post, TryAcquire, Torn, Yield],
    &[Acquire, Post, Critical, Nested, Branch, Repeat],
    &[
        Critical, Nested, Try, Consume, Produce, Acquire, TryAcquire, Post, Torn, Yield, Branch,
        Repeat,
    ],
];

struct Generator<'r> {
    rng: &'r mut Rng,
    program: Program,
    fragments: &'static [Fragment],
    /// The mutex that goes with each condition variable.
    mutex_of: Vec<u8>,
    /// The mutexes that the body holds here, if every branch before was taken as it reads.
    held: Vec<u8>,
    /// How many visible operations the body may still get.
    left: i32,
}

/// Draws a program. It may turn out to be unfit.
pub(super) fn program(rng: &mut Rng) -> Program {
    let spawned = [1, 2, 2, 2, 3, 3][rng.below(6) as usize];
    let fragments = THEMES[rng.below(THEMES.len() as u32) as usize];
    let uses = |which: &[Fragment]| fragments.iter().any(|fragment| which.contains(fragment));
    let mut program = Program {
        moduli: [vec![101], vec![11, 11], vec![11, 11], vec![5, 4, 6]][rng.below(4) as usize]
            .clone(),
        handles: spawned,
        ..Default::default()
    };
    if uses(&[Critical, Nested, Try, Consume, Produce]) {
        for _ in 0..1 + rng.below(2) {
            program.mutexes.push(match rng.below(8) {
                0 => MutexKind::Recursive,
                1 => MutexKind::ErrorChecking,
                _ => MutexKind::Normal,
            });
        }
    }
    let mut mutex_of = Vec::new();
    if uses(&[Consume, Produce]) {
        program.conditions = 1 + u8::from(rng.below(5) == 0);
        let mutexes = program.mutexes.len() as u32;
        mutex_of = (0..program.conditions).map(|_| rng.below(mutexes) as u8).collect();
    }
    if uses(&[Acquire, TryAcquire, Post]) {
        for _ in 0..1 + u32::from(rng.below(3) == 0) {
            program.semaphores.push([0, 0, 1, 1, 2][rng.below(5) as usize]);
        }
    }
    let mut generator = Generator { rng, program, fragments, mutex_of, held: Vec::new(), left: 0 };
    if generator.program.conditions > 0 && spawned > 1 && generator.one_in(2) {
        generator.crowd(spawned);
    } else {
        generator.bodies(spawned);
    }
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

    /// All bodies: main creates the others, does something of its own, and joins.
    fn bodies(&mut self, spawned: u8) {
        // Two tasks often do the same.
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
            // Main may only join it after the one that creates it; or its creator does.
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
                _ => main.push(Statement::Call(Call::Join { handle }, None)),
            }
        }
        if self.one_in(5) {
            main.push(self.own_code());
        }
        self.program.bodies[0] = main;
    }

    /// Several tasks wait for what few signals tell them: little else makes a signal choose.
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
                // What tells the woken from the others.
                waits.insert(self.below(waits.len() as u32 + 1) as usize, self.own_code());
                self.program.bodies.push(waits);
            }
        }
        for _ in 0..1 + self.below(2) {
            self.held.clear();
            main.extend(self.produce());
        }
        // A crowd of whom not all are told would wait for ever: rarely join them all.
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

    fn call(&mut self, call: Call) -> Statement {
        self.left -= 1;
        // What a call answers is used now and then, where it is not always the same.
        let tells = matches!(call, Call::Lock(_) | Call::Unlock(_));
        let result = (tells && self.one_in(8)).then(|| self.below(2) as u8);
        Statement::Call(call, result)
    }

    fn fragment(&mut self, depth: u32) -> Vec<Statement> {
        loop {
            let fragment = self.pick(self.fragments);
            let compound = matches!(fragment, Critical | Nested | Try | Branch | Repeat);
            if compound && depth == 0 {
                if self.one_in(4) {
                    return vec![self.own_code()];
                }
                continue;
            }
            return self.fragment_of(fragment, depth);
        }
    }

    fn fragment_of(&mut self, fragment: Fragment, depth: u32) -> Vec<Statement> {
        match fragment {
            Critical => {
                let mutex = self.mutex();
                self.critical(mutex, depth)
            }
            Nested => self.nested(depth),
            Try => self.tried(depth),
            Consume => self.consume(),
            Produce => self.produce(),
            Acquire => {
                let semaphore = self.semaphore();
                vec![self.call(Call::SemWait(semaphore)), self.own_code()]
            }
            Post => {
                let semaphore = self.semaphore();
                vec![self.own_code(), self.call(Call::SemPost(semaphore))]
            }
            TryAcquire => {
                let semaphore = self.semaphore();
                let then = vec![self.own_code()];
                let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
                self.tested(Call::SemTryWait(semaphore), then, otherwise)
            }
            Torn => self.torn(),
            Yield => vec![self.call(Call::Yield)],
            Branch => {
                let test = self.test();
                let left = self.left;
                let then = self.fragment(depth - 1);
                // Only one of the two is executed.
                let after = self.left;
                let mut otherwise = Vec::new();
                if self.one_in(2) {
                    self.left = left;
                    otherwise = self.fragment(depth - 1);
                }
                self.left = self.left.min(after);
                vec![Statement::If(test, then, otherwise)]
            }
            Repeat => {
                let before = self.left;
                let body = self.fragment(depth - 1);
                let times = 2 + u8::from(self.one_in(4));
                self.left -= (before - self.left) * i32::from(times - 1);
                vec![Statement::Repeat(times, body)]
            }
        }
    }

    fn semaphore(&mut self) -> u8 {
        self.below(self.program.semaphores.len() as u32) as u8
    }

    /// A mutex, rarely one that is held.
    fn mutex(&mut self) -> u8 {
        let mutexes = self.program.mutexes.len() as u32;
        let drawn = self.below(mutexes) as u8;
        let again = self.held.contains(&drawn)
            && self.program.mutexes[usize::from(drawn)] == MutexKind::Normal;
        if again && !self.one_in(8) { (drawn + 1) % mutexes as u8 } else { drawn }
    }

    fn critical(&mut self, mutex: u8, depth: u32) -> Vec<Statement> {
        let mut section = vec![self.call(Call::Lock(mutex))];
        self.held.push(mutex);
        section.push(self.own_code());
        if self.left > 2 && self.one_in(3) {
            section.extend(self.fragment(depth - 1));
        }
        self.held.pop();
        if !self.one_in(24) {
            section.push(self.call(Call::Unlock(mutex)));
        }
        section
    }

    /// One lock in another, in any order.
    fn nested(&mut self, depth: u32) -> Vec<Statement> {
        let outer = self.mutex();
        let mut section = vec![self.call(Call::Lock(outer))];
        self.held.push(outer);
        let inner = self.mutex();
        section.extend(self.critical(inner, depth));
        self.held.pop();
        section.push(self.call(Call::Unlock(outer)));
        section
    }

    fn tried(&mut self, depth: u32) -> Vec<Statement> {
        let mutex = self.mutex();
        let mut then = vec![self.own_code()];
        if self.left > 3 && self.one_in(4) {
            self.held.push(mutex);
            then.extend(self.fragment(depth - 1));
            self.held.pop();
        }
        then.push(self.call(Call::Unlock(mutex)));
        let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
        self.tested(Call::TryLock(mutex), then, otherwise)
    }

    /// A call that succeeds or not, and what is done in either case.
    fn tested(
        &mut self,
        call: Call,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    ) -> Vec<Statement> {
        self.left -= 1;
        let local = self.below(2) as u8;
        let left = Variable::Local(local);
        let test = Test { left, comparison: Comparison::NotEqual, right: 0 };
        vec![Statement::Call(call, Some(local)), Statement::If(test, then, otherwise)]
    }

    /// Waits for a predicate and takes something away, in a loop, with an `if`, or blindly.
    fn consume(&mut self) -> Vec<Statement> {
        let condition = self.below(u32::from(self.program.conditions)) as u8;
        let mutex = self.mutex_of[usize::from(condition)];
        let predicate = Variable::Shared(0);
        let empty = Test { left: predicate, comparison: Comparison::Equal, right: 0 };
        let wait = vec![self.call(Call::Wait { condition, mutex })];
        // The second half of a wait is a step too.
        self.left -= 1;
        let waiting = match self.below(8) {
            0..5 => Statement::While(empty, wait),
            5..7 => Statement::If(empty, wait, Vec::new()),
            _ => Statement::Repeat(1, wait),
        };
        let mut taken = vec![assign(predicate, 1, predicate, -1)];
        if self.one_in(2) {
            taken.push(self.own_code());
        }
        // Inside a section that holds the mutex already, only the wait.
        if self.held.contains(&mutex) {
            return [vec![waiting], taken].concat();
        }
        let lock = self.call(Call::Lock(mutex));
        let unlock = self.call(Call::Unlock(mutex));
        [vec![lock, waiting], taken, vec![unlock]].concat()
    }

    /// Makes the predicate true and tells one or all; the signal after the unlock, in it, or with
    /// no lock at all.
    fn produce(&mut self) -> Vec<Statement> {
        let condition = self.below(u32::from(self.program.conditions)) as u8;
        let mutex = self.mutex_of[usize::from(condition)];
        let predicate = Variable::Shared(0);
        let by = 1 + i32::from(self.one_in(4));
        let update = assign(predicate, 1, predicate, by);
        let tell =
            if self.one_in(3) { Call::Broadcast(condition) } else { Call::Signal(condition) };
        let tell = self.call(tell);
        if self.held.contains(&mutex) || self.one_in(3) {
            return if self.one_in(6) { vec![tell, update] } else { vec![update, tell] };
        }
        let lock = self.call(Call::Lock(mutex));
        let unlock = self.call(Call::Unlock(mutex));
        match self.below(3) {
            0 => vec![lock, update, unlock, tell],
            _ => vec![lock, update, tell, unlock],
        }
    }

    /// Reads, lets others in between, and writes.
    fn torn(&mut self) -> Vec<Statement> {
        let (shared, local) = (self.shared(), self.local());
        let mut between = vec![self.call(Call::Yield)];
        if !self.program.semaphores.is_empty() && self.one_in(2) {
            between = vec![Statement::Call(Call::SemPost(self.semaphore()), None)];
        }
        let constant = 1 + self.below(2) as i32;
        let read = assign(local, 1, shared, 0);
        [vec![read], between, vec![assign(shared, 1, local, constant)]].concat()
    }
}

/// `to = factor * of + plus`
fn assign(to: Variable, factor: i32, of: Variable, plus: i32) -> Statement {
    let value = Value { factor, of: Operand::Variable(of), plus: Operand::Constant(plus) };
    Statement::Assign(to, value)
}

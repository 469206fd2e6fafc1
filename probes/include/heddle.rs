//! What a program can report to Heddle. This file has no dependencies: copy it into the crate and
//! declare `mod heddle;`. Without Heddle, nothing here has an effect. `heddle header --rust` prints
//! this file.
#![allow(dead_code, unused_macros, unused_imports, unexpected_cfgs)]

/// The address of one of Heddle's functions; 0 without Heddle. The reference is weak, so that the
/// program links and runs without Heddle.
macro_rules! address {
    ($name:literal) => {{
        #[allow(unused_mut)]
        let mut address = 0usize;
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        // SAFETY: reads a word of the global offset table that the loader filled in.
        unsafe {
            ::core::arch::asm!(
                concat!(".weak ", $name),
                concat!("mov {}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address,
                options(nostack, preserves_flags, readonly, pure),
            );
        }
        address
    }};
}

/// Executions begin here instead of at main: what the program does before is done once. To be
/// called before the first thread is spawned.
#[inline]
pub fn begin() {
    if let address @ 1.. = address!("heddle_begin") {
        // SAFETY: Heddle's function of this name has this type.
        unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(address)() }
    }
}

/// A scheduling point: another thread may run here. Points of the same object are explored in every
/// order.
#[inline]
pub fn point<T: ?Sized>(object: &T) {
    if let address @ 1.. = address!("heddle_point_at") {
        let object = object as *const T as *const u8;
        // SAFETY: Heddle's function of this name has this type; it uses only the object's address.
        unsafe { core::mem::transmute::<usize, extern "C-unwind" fn(*const u8)>(address)(object) }
    }
}

/// The object's name in all output. At most 31 bytes of it are used.
#[inline]
pub fn name<T: ?Sized>(object: &T, name: &str) {
    if let address @ 1.. = address!("heddle_name") {
        let object = object as *const T as *const u8;
        let mut text = [0u8; 32];
        let len = name.len().min(31);
        text[..len].copy_from_slice(&name.as_bytes()[..len]);
        // SAFETY: Heddle's function of this name has this type; the text ends in a zero byte.
        unsafe {
            core::mem::transmute::<usize, extern "C-unwind" fn(*const u8, *const u8)>(address)(
                object,
                text.as_ptr(),
            );
        }
    }
}

/// Runs the closure without a preemption of the thread; while it has to wait, other threads run.
#[inline]
pub fn atomic<T>(region: impl FnOnce() -> T) -> T {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            if let address @ 1.. = address!("heddle_atomic_end") {
                // SAFETY: Heddle's function of this name has this type.
                unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(address)() }
            }
        }
    }
    if let address @ 1.. = address!("heddle_atomic_begin") {
        // SAFETY: Heddle's function of this name has this type.
        unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(address)() }
    }
    let _end = End;
    region()
}

/// Whether assertions are evaluated: only under Heddle.
#[inline]
pub fn is_there() -> bool {
    address!("heddle_failed") != 0
}

/// Called by [`check`].
#[inline]
pub fn failed(expression: &str, file: &str, line: u32, function: &str) {
    if let address @ 1.. = address!("heddle_failed") {
        let text = |text: &str| {
            let mut bytes = [0u8; 256];
            let len = text.len().min(255);
            bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
            bytes
        };
        let (expression, file, function) = (text(expression), text(file), text(function));
        type Failed = extern "C-unwind" fn(*const u8, *const u8, u32, *const u8);
        // SAFETY: Heddle's function of this name has this type; the texts end in a zero byte.
        unsafe {
            core::mem::transmute::<usize, Failed>(address)(
                expression.as_ptr(),
                file.as_ptr(),
                line,
                function.as_ptr(),
            );
        }
    }
}

/// Reports a failure if the condition is false, in release builds, too. Without Heddle the
/// condition is not evaluated.
macro_rules! check {
    ($condition:expr) => {
        if $crate::heddle::is_there() && !$condition {
            $crate::heddle::failed(stringify!($condition), file!(), line!(), module_path!());
        }
    };
}
pub(crate) use check;

/// How many other threads of the group must wait with their predicates true.
#[derive(Clone, Copy)]
pub enum Others {
    /// None.
    None,
    /// Fewer than this number.
    Fewer(u32),
    /// More than this number.
    More(u32),
    /// Exactly this number.
    Exactly(u32),
    /// All that wait, and at least one, when no other can arrive.
    All,
}

impl Others {
    fn code(self) -> (u32, u32) {
        match self {
            Others::None => (0, 0),
            Others::Fewer(number) => (1, number),
            Others::More(number) => (2, number),
            Others::Exactly(number) => (3, number),
            Others::All => (4, 0),
        }
    }
}

/// The threads that are counted together at their predicates; a static variable.
pub struct Group {
    #[cfg(heddle_cp_timed)]
    timed: timed::Waiting,
    #[cfg(not(heddle_cp_timed))]
    unused: u8,
}

impl Group {
    /// A group.
    pub const fn new() -> Group {
        Group {
            #[cfg(heddle_cp_timed)]
            timed: timed::Waiting::new(),
            #[cfg(not(heddle_cp_timed))]
            unused: 0,
        }
    }

    /// A concurrent predicate: the thread waits here until its predicate is true and as many other
    /// threads of the group as wanted wait with their predicates true.
    pub const fn others(&self, others: Others) -> Cp<'_> {
        Cp { group: self, others, priority: 0 }
    }

    /// Runs the closure without a preemption of the thread. Of the closures with the same group, one at
    /// a time runs.
    pub fn serial<T>(&self, region: impl FnOnce() -> T) -> T {
        serial_id(self as *const Group as *const u8, region)
    }
}

/// Runs the closure of a thread that does not matter for what is sought: without a preemption.
pub fn cp_serial<T>(region: impl FnOnce() -> T) -> T {
    serial_id(core::ptr::null(), region)
}

/// Runs the closure of a thread that does not matter for what is sought: without a preemption, and one
/// at a time of those with the same group.
pub fn cp_serial_id<T>(group: &Group, region: impl FnOnce() -> T) -> T {
    group.serial(region)
}

fn serial_id<T>(identity: *const u8, region: impl FnOnce() -> T) -> T {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            if let address @ 1.. = address!("heddle_serial_end") {
                // SAFETY: Heddle's function of this name has this type.
                unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(address)() }
            }
        }
    }
    if let address @ 1.. = address!("heddle_serial_begin") {
        // SAFETY: Heddle's function of this name has this type; it uses only the address.
        unsafe {
            core::mem::transmute::<usize, extern "C-unwind" fn(*const u8)>(address)(identity);
        }
    }
    let _end = End;
    region()
}

/// A place at which a thread waits; see [`Group::others`].
#[derive(Clone, Copy)]
pub struct Cp<'g> {
    group: &'g Group,
    others: Others,
    priority: i32,
}

impl Cp<'_> {
    /// Of several threads, one with a higher priority goes first.
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Waits until the predicate is true and the others are as wanted, and then runs `satisfied`; or
    /// `otherwise`, if no other thread can run. The predicate is evaluated again whenever something may
    /// have changed. `pre` runs on arrival, and `post` last. All threads that were counted in one state
    /// are satisfied, and run their closures before any other thread runs.
    ///
    /// Without Heddle it does nothing; with `--cfg heddle_cp_timed` it waits in real time, with pauses
    /// of 10 microseconds, 20, 40 and so on up to 10 milliseconds, 100 times at most.
    pub fn run(
        self,
        mut pre: impl FnMut(),
        mut predicate: impl FnMut() -> bool,
        mut satisfied: impl FnMut(),
        mut otherwise: impl FnMut(),
        mut post: impl FnMut(),
    ) {
        let (count, number) = self.others.code();
        let (address @ 1.., evaluated @ 1.., leave @ 1..) = (
            address!("heddle_cp_arrive"),
            address!("heddle_cp_evaluated"),
            address!("heddle_cp_leave"),
        ) else {
            #[cfg(heddle_cp_timed)]
            self.group.timed.run(
                (count, number, self.priority),
                &mut pre,
                &mut predicate,
                &mut satisfied,
                &mut otherwise,
                &mut post,
            );
            return;
        };
        struct Leave(usize);
        impl Drop for Leave {
            fn drop(&mut self) {
                // SAFETY: Heddle's function of this name has this type.
                unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(self.0)() }
            }
        }
        let group = self.group as *const Group as *const u8;
        type Arrive = extern "C-unwind" fn(*const u8, u32, u32, i32);
        // SAFETY: Heddle's functions of these names have these types; they use only the address.
        let evaluated = unsafe {
            core::mem::transmute::<usize, Arrive>(address)(group, count, number, self.priority);
            core::mem::transmute::<usize, extern "C-unwind" fn(i32) -> i32>(evaluated)
        };
        let _leave = Leave(leave);
        pre();
        let result = loop {
            match evaluated(i32::from(predicate())) {
                2 => {}
                result => break result,
            }
        };
        if result == 1 {
            satisfied();
        } else {
            otherwise();
        }
        post();
    }
}

#[cfg(heddle_cp_timed)]
mod timed {
    use std::sync::Mutex;
    use std::time::Duration;

    /// How often a thread evaluates its predicate.
    const RETRIES: u32 = 100;

    /// A waiting thread.
    struct Visit {
        number: u64,
        control: (u32, u32, i32),
        holds: bool,
        satisfied: bool,
    }

    /// The waiting threads of a group.
    pub struct Waiting(Mutex<(u64, Vec<Visit>)>);

    impl Waiting {
        pub const fn new() -> Waiting {
            Waiting(Mutex::new((0, Vec::new())))
        }

        pub fn run(
            &self,
            control: (u32, u32, i32),
            pre: &mut dyn FnMut(),
            predicate: &mut dyn FnMut() -> bool,
            satisfied: &mut dyn FnMut(),
            otherwise: &mut dyn FnMut(),
            post: &mut dyn FnMut(),
        ) {
            let mut pause = Duration::from_micros(10);
            let lock = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let mut state = lock();
            pre();
            state.0 += 1;
            let number = state.0;
            state.1.push(Visit { number, control, holds: false, satisfied: false });
            let mut tries = 0;
            let mut is_satisfied = false;
            while tries < RETRIES {
                tries += 1;
                let holds = predicate();
                let visits = &mut state.1;
                if let Some(me) = visits.iter_mut().find(|one| one.number == number) {
                    me.holds = holds || me.satisfied;
                }
                decide(visits, tries == RETRIES);
                let of = |one: &Visit| (one.control.2, one.number == number);
                let first = visits.iter().filter(|one| one.satisfied).max_by_key(|one| of(one));
                is_satisfied = visits.iter().any(|one| one.number == number && one.satisfied);
                if first.is_some_and(|one| one.number == number) {
                    break;
                }
                // A thread that was counted waits for those with a higher priority.
                tries -= u32::from(is_satisfied);
                drop(state);
                std::thread::sleep(pause);
                pause = (2 * pause).min(Duration::from_millis(10));
                state = lock();
            }
            if is_satisfied {
                satisfied();
            } else {
                otherwise();
            }
            post();
            state.1.retain(|one| one.number != number);
        }
    }

    /// Marks the waiting threads whose counts are as wanted, all by the same state.
    fn decide(visits: &mut [Visit], none_can_arrive: bool) {
        if visits.iter().any(|one| one.satisfied) {
            return;
        }
        let holding = visits.iter().filter(|one| one.holds).count() as u32;
        let all = visits.len() as u32;
        for one in visits.iter_mut().filter(|one| one.holds) {
            let (others, waiting) = (holding - 1, all - 1);
            let (code, number, _) = one.control;
            one.satisfied = match code {
                0 => others == 0,
                1 => others < number,
                2 => others > number,
                3 => others == number,
                _ => none_can_arrive && waiting > 0 && others == waiting,
            };
        }
    }
}

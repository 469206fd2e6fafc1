//! What a program may tell Heddle. A file of its own, without dependencies: put it into the crate and
//! say `mod heddle;`. Where the program is not run under Heddle, nothing here does anything.
//! `heddle header --rust` prints this file.
#![allow(dead_code, unused_macros, unused_imports)]

/// The address of one of Heddle's functions; 0 where there is none. The reference is weak, so that the
/// program can be linked and run without.
macro_rules! address {
    ($name:literal) => {{
        #[allow(unused_mut)]
        let mut address = 0usize;
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        // SAFETY: reads a word that the loader filled in.
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

/// Executions begin here, not at main: what the program does before is done once. Before the first
/// thread is spawned.
#[inline]
pub fn begin() {
    if let address @ 1.. = address!("heddle_begin") {
        // SAFETY: what the name stands for.
        unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(address)() }
    }
}

/// The scheduler may let another thread go on here. Points of the same object are ordered in every
/// way.
#[inline]
pub fn point<T: ?Sized>(object: &T) {
    if let address @ 1.. = address!("heddle_point_at") {
        let object = object as *const T as *const u8;
        // SAFETY: what the name stands for; the object is looked at by its address alone.
        unsafe { core::mem::transmute::<usize, extern "C-unwind" fn(*const u8)>(address)(object) }
    }
}

/// What the object is called wherever it is shown. At most 31 bytes of the name are kept.
#[inline]
pub fn name<T: ?Sized>(object: &T, name: &str) {
    if let address @ 1.. = address!("heddle_name") {
        let object = object as *const T as *const u8;
        let mut text = [0u8; 32];
        let len = name.len().min(31);
        text[..len].copy_from_slice(&name.as_bytes()[..len]);
        // SAFETY: what the name stands for; the text ends in a zero byte.
        unsafe {
            core::mem::transmute::<usize, extern "C-unwind" fn(*const u8, *const u8)>(address)(
                object,
                text.as_ptr(),
            );
        }
    }
}

/// Runs the closure without a preemption of the thread; where it has to wait, others go on.
#[inline]
pub fn atomic<T>(region: impl FnOnce() -> T) -> T {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            if let address @ 1.. = address!("heddle_atomic_end") {
                // SAFETY: what the name stands for.
                unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(address)() }
            }
        }
    }
    if let address @ 1.. = address!("heddle_atomic_begin") {
        // SAFETY: what the name stands for.
        unsafe { core::mem::transmute::<usize, extern "C-unwind" fn()>(address)() }
    }
    let _end = End;
    region()
}

/// Whether assertions are looked at: under Heddle.
#[inline]
pub fn is_there() -> bool {
    address!("heddle_failed") != 0
}

/// What [`check`] calls.
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
        // SAFETY: what the name stands for; the texts end in a zero byte.
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

/// A failure of this schedule where the condition does not hold, in release builds, too. The condition
/// is not evaluated without Heddle.
macro_rules! check {
    ($condition:expr) => {
        if $crate::heddle::is_there() && !$condition {
            $crate::heddle::failed(stringify!($condition), file!(), line!(), module_path!());
        }
    };
}
pub(crate) use check;

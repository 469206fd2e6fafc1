//! What a program can report to Heddle. This file has no dependencies: copy it into the crate and
//! declare `mod heddle;`. Without Heddle, nothing here has an effect. `heddle header --rust` prints
//! this file.
#![allow(dead_code, unused_macros, unused_imports)]

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

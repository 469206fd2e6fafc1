//! The functions that the interposers replace.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Finds the next definition of a symbol after this library's. `version` matters for functions of
/// which glibc has several versions, where `dlsym` may return the oldest.
pub(crate) fn find(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    // SAFETY: both arguments are C strings.
    unsafe {
        match version {
            Some(version) => {
                let found = libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr());
                if found.is_null() { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } else { found }
            }
            None => libc::dlsym(libc::RTLD_NEXT, name.as_ptr()),
        }
    }
}

/// A function that is looked up at its first use, or by [`find_all`]. It is declared by [`lazy!`], which puts
/// it into the section that [`find_all`] reads.
pub(crate) struct Lazy {
    name: &'static CStr,
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

impl Lazy {
    pub(crate) const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Lazy {
        Lazy { name, version, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    pub(crate) fn get(&self) -> *mut c_void {
        let mut found = self.found.load(Relaxed);
        if found.is_null() {
            found = find(self.name, self.version);
            if found.is_null() {
                crate::sys::channel::fail(&format!(
                    "the C library has no {}: is it glibc?",
                    self.name.to_string_lossy()
                ));
            }
            self.found.store(found, Relaxed);
        }
        found
    }
}

unsafe extern "C" {
    /// The first function of the section, and its end (the linker defines the symbols).
    static __start_heddle_functions: u8;
    static __stop_heddle_functions: u8;
}

/// Looks up all functions. A later lookup would wait for the loader's lock, which a task may hold
/// while it waits for another one, in a destructor for example.
pub(crate) fn find_all() {
    let start = (&raw const __start_heddle_functions).cast::<Lazy>();
    let end = (&raw const __stop_heddle_functions).cast::<Lazy>();
    let bytes = end.addr() - start.addr();
    // A function that the optimiser has split would be a gap.
    assert_eq!(bytes % size_of::<Lazy>(), 0);
    // SAFETY: the section holds functions of this type and nothing else ([`lazy!`] declares all of them); they
    // have its alignment, so there are no gaps.
    for function in unsafe { std::slice::from_raw_parts(start, bytes / size_of::<Lazy>()) } {
        if function.found.load(Relaxed).is_null() {
            function.found.store(find(function.name, function.version), Relaxed);
        }
    }
}

/// `lazy! { static NAME = c"name", version; }`: declares a [`Lazy`] function.
///
/// `used` keeps the optimiser from splitting a function whose uses it has all seen into its fields: these
/// would be gaps in the section.
macro_rules! lazy {
    ($(static $variable:ident = $name:expr, $version:expr;)*) => {$(
        #[used]
        #[unsafe(link_section = "heddle_functions")]
        static $variable: $crate::sys::real::Lazy = $crate::sys::real::Lazy::new($name, $version);
    )*};
}
pub(crate) use lazy;

/// `real!(name(args) as fn(types) -> ret)`: calls the real function.
macro_rules! real {
    ($name:ident($($arg:expr),* $(,)?) as fn($($type:ty),* $(,)?) -> $ret:ty) => {{
        $crate::sys::real::lazy! {
            static REAL =
                // SAFETY: `concat!` appends a zero byte, and names contain none.
                unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(
                    concat!(stringify!($name), "\0").as_bytes()) }, None;
        }
        // SAFETY: the C library's function of that name has that type, and is called with the
        // arguments that the program gave, or that its contract allows.
        #[allow(unused_unsafe, reason = "some callers are in an unsafe block already")]
        unsafe {
            let function: unsafe extern "C-unwind" fn($($type),*) -> $ret =
                std::mem::transmute(REAL.get());
            function($($arg),*)
        }
    }};
}
pub(crate) use real;

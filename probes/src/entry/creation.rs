//! Takes over the C library's own `pthread_create`.
//!
//! A library may look the function up behind the runtime (`dlsym(RTLD_NEXT, ...)`, as allocators with
//! background threads do) and call it by its address. So the function itself begins with a jump to the
//! runtime's.

use crate::sys::copies;
use crate::sys::raw;
use crate::sys::real;

/// `jmp [rip]`, followed by the address.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// The bytes of the jump with its address.
const LEN: usize = JUMP.len() + size_of::<u64>();

unsafe extern "C" {
    fn pthread_create();
}

/// From here on, the C library's `pthread_create` is the runtime's.
pub(super) fn redirect() -> Result<(), String> {
    let theirs = real::find(c"pthread_create", None) as u64;
    let ours = pthread_create as *const () as u64;
    if theirs == 0 || theirs == ours {
        return Err("the C library has no pthread_create: is it glibc?".into());
    }
    copies::about_to_change(theirs);
    let mut code = [0u8; LEN];
    code[..JUMP.len()].copy_from_slice(&JUMP);
    code[JUMP.len()..].copy_from_slice(&ours.to_le_bytes());
    let start = theirs & !4095;
    let len = (theirs + LEN as u64).next_multiple_of(4096) - start;
    let protect = |prot: i32| {
        // SAFETY: the pages contain code of the C library, which this thread, the only one, does not
        // execute while they are not executable: the call is made by the runtime itself.
        unsafe { raw::call!(libc::SYS_mprotect, start, len, prot) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE) {
        return Err("the C library's code cannot be changed: is a security module active?".into());
    }
    // Byte by byte, since `memcpy` may be on the same page.
    for (at, byte) in code.into_iter().enumerate() {
        // SAFETY: the function is longer than the jump (it prepares a stack and attributes), its page
        // is writable, and nothing executes it.
        unsafe { (theirs as *mut u8).add(at).write_volatile(byte) };
    }
    if protect(libc::PROT_READ | libc::PROT_EXEC) {
        return Ok(());
    }
    Err("the C library's code cannot be made executable again".into())
}

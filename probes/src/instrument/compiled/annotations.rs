//! The sanitizer's annotations: how the program synchronises, which races are benign, and queries
//! to the sanitizer.
//!
//! Every symbol that a program built with `-fsanitize=thread` may refer to is defined here, so that
//! it can be loaded. Functions without meaning under the runtime's control return what the
//! sanitizer returns when it has nothing to report.

use crate::detect::access::{acquire, fresh, release};
use crate::detect::race;
use crate::instrument::compiled::{range, site};
use crate::state::outcome;
use crate::state::world::on_fiber;
use crate::sys::interpose::interpose;
use std::ffi::{c_char, c_int, c_void};

/// Functions without effect, which return 0 if they return a value.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!("xor eax, eax", "ret")
        }
    )*};
}

// Function entries and exits are not needed: stacks are unwound when one is wanted.
nothing! {
    __tsan_func_entry __tsan_func_exit __tsan_flush_memory __tsan_atomic_signal_fence
    __tsan_mutex_create __tsan_mutex_destroy __tsan_mutex_pre_lock __tsan_mutex_post_unlock
    __tsan_mutex_pre_signal __tsan_mutex_post_signal __tsan_mutex_pre_divert
    __tsan_mutex_post_divert
    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateEnableRaceDetection AnnotateThreadName
    AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateTraceMemory
    AnnotateNoOp AnnotateFlushState AnnotateExpectRace AnnotateFlushExpectedRaces
    AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar AnnotatePCQCreate AnnotatePCQDestroy
    AnnotatePCQPut AnnotatePCQGet AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized AnnotatePublishMemoryRange
    AnnotateUnpublishMemoryRange RunningOnValgrind
}

// The controller reports races: the program gets no callbacks, and there is no report to query.
nothing! {
    __tsan_on_report __tsan_symbolize_external __tsan_symbolize_external_ex
    __tsan_get_current_report __tsan_get_report_data __tsan_get_report_loc
    __tsan_get_report_loc_object_type __tsan_get_report_mop __tsan_get_report_mutex
    __tsan_get_report_stack __tsan_get_report_tag __tsan_get_report_thread
    __tsan_get_report_unique_tid __tsan_get_alloc_stack __tsan_locate_address
    __tsan_external_register_tag __tsan_external_register_header __tsan_external_assign_tag
    __sanitizer_set_death_callback __sanitizer_set_report_path __sanitizer_set_report_fd
    __sanitizer_get_report_path __sanitizer_print_stack_trace __sanitizer_report_error_summary
    __sanitizer_sandbox_on_notify __sanitizer_symbolize_pc __sanitizer_symbolize_global
    __sanitizer_get_module_and_offset_for_pc __sanitizer_acquire_crash_state
    __sanitizer_install_malloc_and_free_hooks __sanitizer_get_current_allocated_bytes
    __sanitizer_get_heap_size __sanitizer_get_free_bytes __sanitizer_get_unmapped_bytes
    __sanitizer_dump_coverage __sanitizer_dump_trace_pc_guard_coverage
}

// Coroutines that a program switches itself belong to the task on which they run: their accesses
// are that task's, and the program synchronises when it hands one to another thread.
nothing! { __tsan_destroy_fiber __tsan_switch_to_fiber __tsan_set_fiber_name }

/// The one value for all coroutines: the program only passes it back.
static COROUTINE: u8 = 0;

/// Functions for a virtual machine's memory, and queries to the sanitizer's allocator: a call ends
/// the execution as unsupported, with the function's name.
macro_rules! unsupported {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name() -> u64 {
                if on_fiber() {
                    outcome::unsupported(stringify!($name), site());
                }
                0
            })*
        }
    };
}

unsupported! {
    __tsan_java_init __tsan_java_fini __tsan_java_alloc __tsan_java_free __tsan_java_move
    __tsan_java_find __tsan_java_finalize __tsan_java_mutex_lock __tsan_java_mutex_unlock
    __tsan_java_mutex_read_lock __tsan_java_mutex_read_unlock __tsan_java_mutex_lock_rec
    __tsan_java_mutex_unlock_rec __tsan_java_acquire __tsan_java_release
    __tsan_java_release_store
    __sanitizer_get_allocated_size __sanitizer_get_ownership
    __sanitizer_get_estimated_allocated_size
}

interpose! {
    fn __tsan_create_fiber(_flags: u32) -> *const c_void { (&raw const COROUTINE).cast() }
    fn __tsan_get_current_fiber() -> *const c_void { (&raw const COROUTINE).cast() }

    // An object of another language, represented by its first byte.
    fn __tsan_external_read(address: *const c_void, pc: u64, _tag: u64) -> () {
        range(address, 1, false, pc);
    }
    fn __tsan_external_write(address: *const c_void, pc: u64, _tag: u64) -> () {
        range(address, 1, true, pc);
    }

    fn __sanitizer_unaligned_load16(address: *const u16) -> u16 {
        range(address.cast(), 2, false, site());
        unsafe { address.read_unaligned() }
    }
    fn __sanitizer_unaligned_load32(address: *const u32) -> u32 {
        range(address.cast(), 4, false, site());
        unsafe { address.read_unaligned() }
    }
    fn __sanitizer_unaligned_load64(address: *const u64) -> u64 {
        range(address.cast(), 8, false, site());
        unsafe { address.read_unaligned() }
    }
    fn __sanitizer_unaligned_store16(address: *mut u16, value: u16) -> () {
        range(address.cast(), 2, true, site());
        unsafe { address.write_unaligned(value) };
    }
    fn __sanitizer_unaligned_store32(address: *mut u32, value: u32) -> () {
        range(address.cast(), 4, true, site());
        unsafe { address.write_unaligned(value) };
    }
    fn __sanitizer_unaligned_store64(address: *mut u64, value: u64) -> () {
        range(address.cast(), 8, true, site());
        unsafe { address.write_unaligned(value) };
    }

    // Annotations of the program's own synchronisation.
    fn __tsan_acquire(address: u64) -> () { acquire(address); }
    fn __tsan_release(address: u64) -> () { release(address); }
    fn __tsan_mutex_post_lock(address: u64, _flags: u32, _recursion: c_int) -> () {
        acquire(address);
    }
    fn __tsan_mutex_pre_unlock(address: u64, _flags: u32) -> c_int {
        release(address);
        0
    }
    fn AnnotateHappensBefore(_file: *const c_char, _line: c_int, address: u64) -> () {
        release(address);
    }
    fn AnnotateHappensAfter(_file: *const c_char, _line: c_int, address: u64) -> () {
        acquire(address);
    }
    fn WTFAnnotateHappensBefore(_file: *const c_char, _line: c_int, address: u64) -> () {
        release(address);
    }
    fn WTFAnnotateHappensAfter(_file: *const c_char, _line: c_int, address: u64) -> () {
        acquire(address);
    }
    fn AnnotateRWLockAcquired(_file: *const c_char, _line: c_int, lock: u64, _write: u64) -> () {
        acquire(lock);
    }
    fn AnnotateRWLockReleased(_file: *const c_char, _line: c_int, lock: u64, _write: u64) -> () {
        release(lock);
    }
    fn AnnotateNewMemory(_file: *const c_char, _line: c_int, address: u64, size: usize) -> () {
        fresh(address, size as u64);
    }

    // Annotations of benign races.
    fn __tsan_ignore_thread_begin() -> () { race::meant(race::READS | race::WRITES, true); }
    fn __tsan_ignore_thread_end() -> () { race::meant(race::READS | race::WRITES, false); }
    fn AnnotateIgnoreReadsBegin(_file: *const c_char, _line: c_int) -> () {
        race::meant(race::READS, true);
    }
    fn AnnotateIgnoreReadsEnd(_file: *const c_char, _line: c_int) -> () {
        race::meant(race::READS, false);
    }
    fn AnnotateIgnoreWritesBegin(_file: *const c_char, _line: c_int) -> () {
        race::meant(race::WRITES, true);
    }
    fn AnnotateIgnoreWritesEnd(_file: *const c_char, _line: c_int) -> () {
        race::meant(race::WRITES, false);
    }
    fn AnnotateBenignRace(_file: *const c_char, _line: c_int, address: u64, _why: *const c_char) -> () {
        race::benign(address, 8);
    }
    fn AnnotateBenignRaceSized(
        _file: *const c_char, _line: c_int, address: u64, size: u64, _why: *const c_char
    ) -> () {
        race::benign(address, size);
    }
    fn WTFAnnotateBenignRaceSized(
        _file: *const c_char, _line: c_int, address: u64, size: u64, _why: *const c_char
    ) -> () {
        race::benign(address, size);
    }

    fn ValgrindSlowdown() -> f64 { 0.0 }
}

//! Compiler instrumentation: the functions that gcc, clang and rustc call for memory accesses with
//! `-fsanitize=thread`.
//!
//! A program built that way asks the loader for the sanitizer's library. The loader finds this
//! runtime under that name, so the sanitizer itself is never loaded. Each function does what the
//! instruction would have done (atomics), or is called just before it (plain accesses).

pub(crate) mod annotations;

use crate::detect::access::{Access, POINTS, are_on, is_awake, is_point, look, me, new_stretch};
use crate::detect::order::{self, Order};
use crate::instrument::binary;
use crate::instrument::binary::bulk::{self, Caller};
use crate::instrument::fast_path::{heddle_access, passes};
use crate::instrument::reuse;
use crate::schedule::access_points::{arrive, visit};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use traces::Operation;
use traces::store_buffers::MemoryEffect;

/// Whether a module called `__tsan_init`.
static PRESENT: AtomicBool = AtomicBool::new(false);

/// Whether the program has code whose accesses the compiler instrumented, at least the atomic ones.
pub(crate) fn is_present() -> bool {
    PRESENT.load(Ordering::Relaxed) || binary::has_compiled_accesses()
}

/// Plain accesses of one to eight aligned bytes, with as few instructions as possible before
/// `heddle_access`.
macro_rules! plain {
    ($($name:ident $with_pc:ident = $size:literal $writes:literal;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov rsi, [rsp]",
                "jmp {access}",
                access = sym heddle_access::<$size, $writes>,
            )
        }

        /// Like the function above, with the site as an argument.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $with_pc() {
            std::arch::naked_asm!(
                "jmp {access}",
                access = sym heddle_access::<$size, $writes>,
            )
        }
    )*};
}

plain! {
    __tsan_read1 __tsan_read1_pc = 1 false;
    __tsan_read2 __tsan_read2_pc = 2 false;
    __tsan_read4 __tsan_read4_pc = 4 false;
    __tsan_read8 __tsan_read8_pc = 8 false;
    __tsan_write1 __tsan_write1_pc = 1 true;
    __tsan_write2 __tsan_write2_pc = 2 true;
    __tsan_write4 __tsan_write4_pc = 4 true;
    __tsan_write8 __tsan_write8_pc = 8 true;
    __tsan_volatile_read1 __tsan_volatile_read1_pc = 1 false;
    __tsan_volatile_read2 __tsan_volatile_read2_pc = 2 false;
    __tsan_volatile_read4 __tsan_volatile_read4_pc = 4 false;
    __tsan_volatile_read8 __tsan_volatile_read8_pc = 8 false;
    __tsan_volatile_write1 __tsan_volatile_write1_pc = 1 true;
    __tsan_volatile_write2 __tsan_volatile_write2_pc = 2 true;
    __tsan_volatile_write4 __tsan_volatile_write4_pc = 4 true;
    __tsan_volatile_write8 __tsan_volatile_write8_pc = 8 true;
    __tsan_vptr_read __tsan_vptr_read_pc = 8 false;
}

fn at(address: *const c_void, size: usize, writes: bool) {
    range(address, size, writes, site());
}

fn both(address: *const c_void, size: usize) {
    // The site is read first: another task may run in between and overwrite it.
    let site = site();
    range(address, size, false, site);
    range(address, size, true, site);
}

fn range(address: *const c_void, size: usize, writes: bool, site: u64) {
    if size > 0 && !passes(address as u64, size as u64, writes, site) {
        visit(Access {
            address: address as u64,
            size: size as u64,
            writes,
            atomic: false,
            proven: true,
            site,
            in_parts: false,
        });
    }
}

/// Copies as `memmove` does: a program with overlapping arguments must behave as it did.
fn copy(to: *mut c_void, from: *const c_void, size: usize, site: u64) -> *mut c_void {
    let caller = Caller { site, is_compiled: true };
    if !is_awake() || !bulk::copy(caller, to as u64, from as u64, size as u64) {
        range(from, size, false, site);
        range(to, size, true, site);
        // SAFETY: the program passes two ranges of this size to `memcpy` or `memmove`.
        unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), size) };
    }
    to
}

interpose! {
    fn __tsan_init() -> () { PRESENT.store(true, Ordering::Relaxed); }

    fn __tsan_read16(address: *const c_void) -> () { at(address, 16, false); }
    fn __tsan_write16(address: *const c_void) -> () { at(address, 16, true); }
    fn __tsan_read16_pc(address: *const c_void, pc: u64) -> () { range(address, 16, false, pc); }
    fn __tsan_write16_pc(address: *const c_void, pc: u64) -> () { range(address, 16, true, pc); }
    fn __tsan_volatile_read16(address: *const c_void) -> () { at(address, 16, false); }
    fn __tsan_volatile_write16(address: *const c_void) -> () { at(address, 16, true); }
    fn __tsan_volatile_read16_pc(address: *const c_void, pc: u64) -> () { range(address, 16, false, pc); }
    fn __tsan_volatile_write16_pc(address: *const c_void, pc: u64) -> () { range(address, 16, true, pc); }
    fn __tsan_unaligned_read1(address: *const c_void) -> () { at(address, 1, false); }
    fn __tsan_unaligned_read2(address: *const c_void) -> () { at(address, 2, false); }
    fn __tsan_unaligned_read4(address: *const c_void) -> () { at(address, 4, false); }
    fn __tsan_unaligned_read8(address: *const c_void) -> () { at(address, 8, false); }
    fn __tsan_unaligned_read16(address: *const c_void) -> () { at(address, 16, false); }
    fn __tsan_unaligned_write1(address: *const c_void) -> () { at(address, 1, true); }
    fn __tsan_unaligned_write2(address: *const c_void) -> () { at(address, 2, true); }
    fn __tsan_unaligned_write4(address: *const c_void) -> () { at(address, 4, true); }
    fn __tsan_unaligned_write8(address: *const c_void) -> () { at(address, 8, true); }
    fn __tsan_unaligned_write16(address: *const c_void) -> () { at(address, 16, true); }
    fn __tsan_unaligned_volatile_read2(address: *const c_void) -> () { at(address, 2, false); }
    fn __tsan_unaligned_volatile_read4(address: *const c_void) -> () { at(address, 4, false); }
    fn __tsan_unaligned_volatile_read8(address: *const c_void) -> () { at(address, 8, false); }
    fn __tsan_unaligned_volatile_read16(address: *const c_void) -> () { at(address, 16, false); }
    fn __tsan_unaligned_volatile_write2(address: *const c_void) -> () { at(address, 2, true); }
    fn __tsan_unaligned_volatile_write4(address: *const c_void) -> () { at(address, 4, true); }
    fn __tsan_unaligned_volatile_write8(address: *const c_void) -> () { at(address, 8, true); }
    fn __tsan_unaligned_volatile_write16(address: *const c_void) -> () { at(address, 16, true); }

    // clang calls these functions for an access that reads and writes.
    fn __tsan_read_write1(address: *const c_void) -> () { both(address, 1); }
    fn __tsan_read_write2(address: *const c_void) -> () { both(address, 2); }
    fn __tsan_read_write4(address: *const c_void) -> () { both(address, 4); }
    fn __tsan_read_write8(address: *const c_void) -> () { both(address, 8); }
    fn __tsan_read_write16(address: *const c_void) -> () { both(address, 16); }
    fn __tsan_unaligned_read_write2(address: *const c_void) -> () { both(address, 2); }
    fn __tsan_unaligned_read_write4(address: *const c_void) -> () { both(address, 4); }
    fn __tsan_unaligned_read_write8(address: *const c_void) -> () { both(address, 8); }
    fn __tsan_unaligned_read_write16(address: *const c_void) -> () { both(address, 16); }

    fn __tsan_read_range(address: *const c_void, size: usize) -> () {
        range(address, size, false, site());
    }
    fn __tsan_write_range(address: *const c_void, size: usize) -> () {
        range(address, size, true, site());
    }
    fn __tsan_read_range_pc(address: *const c_void, size: usize, pc: u64) -> () {
        range(address, size, false, pc);
    }
    fn __tsan_write_range_pc(address: *const c_void, size: usize, pc: u64) -> () {
        range(address, size, true, pc);
    }

    fn __tsan_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copy(to, from, size, site())
    }
    fn __tsan_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copy(to, from, size, site())
    }
    fn __tsan_memset(to: *mut c_void, value: c_int, size: usize) -> *mut c_void {
        let caller = Caller { site: site(), is_compiled: true };
        if !is_awake() || !bulk::fill(caller, to as u64, value as u8, size as u64) {
            range(to, size, true, caller.site);
            unsafe { std::ptr::write_bytes(to.cast::<u8>(), value as u8, size) };
        }
        to
    }

    // A constructor stores its class's table pointer repeatedly: only a change counts as a write.
    fn __tsan_vptr_update(pointer: *const *const c_void, new: *const c_void) -> () {
        let changes = unsafe { *pointer != new };
        at(pointer.cast(), 8, changes);
    }

    fn __tsan_atomic_thread_fence(order: c_int) -> () {
        if are_on() {
            let order = Order(order);
            POINTS.clocks.fence(me(), order.acquires(), order.releases());
            // Other fences emit no processor instruction.
            if order.is_total() {
                crate::detect::delayed_stores::note(MemoryEffect::Fence, 0, site());
            }
            new_stretch();
        }
    }
}

/// Before an atomic operation: whether it is a separate step.
fn before(address: u64, size: usize, operation: Operation, order: Order, site: u64) -> bool {
    if !is_awake() {
        return false;
    }
    let writes = operation != Operation::Read;
    let access = Access {
        address,
        size: size as u64,
        writes,
        atomic: true,
        proven: true,
        site,
        in_parts: false,
    };
    let is_point = is_point(&access);
    if is_point {
        arrive(&access, operation);
    } else {
        POINTS.budget.set(POINTS.budget.get().wrapping_sub(1));
        crate::schedule::busy_loops::no_step(&access, true);
    }
    // Before the operation acquires anything: two accesses that are ordered only by the order of
    // this execution conflict.
    look(&access);
    if is_point {
        let act = match operation {
            Operation::Read => MemoryEffect::Load,
            // A sequentially consistent store is an exchange.
            Operation::Write if order.is_total() => MemoryEffect::Update,
            Operation::Write => MemoryEffect::Store,
            _ => MemoryEffect::Update,
        };
        crate::detect::delayed_stores::note(act, address, site);
    }
    is_point
}

/// After an atomic operation: what the task acquires and releases by it.
fn after(address: u64, reads: bool, writes: bool, order: Order, step: Option<u64>) {
    if !are_on() {
        return;
    }
    order::atomic(&POINTS.clocks, &POINTS.shadow, me(), address, (reads, writes), order);
    new_stretch();
    if let Some(value) = step {
        record::value(value);
    }
}

/// The atomic operations of one size. Plain code implements them, since no other task runs
/// meanwhile.
macro_rules! atomics {
    ($($type:ty: $load:ident, $store:ident, $exchange:ident, $strong:ident, $weak:ident,
        $compare:ident, $add:ident, $sub:ident, $and:ident, $or:ident, $xor:ident, $nand:ident;)*) => {$(
        interpose! {
            fn $load(address: *const $type, order: c_int) -> $type {
                let point = before(address as u64, size_of::<$type>(), Operation::Read, Order(order), site());
                let value = unsafe { address.read_volatile() };
                after(address as u64, true, false, Order(order), point.then_some(value as u64));
                value
            }
            fn $store(address: *mut $type, value: $type, order: c_int) -> () {
                let point = before(address as u64, size_of::<$type>(), Operation::Write, Order(order), site());
                unsafe { address.write_volatile(value) };
                after(address as u64, false, true, Order(order), point.then_some(value as u64));
            }
            fn $exchange(address: *mut $type, value: $type, order: c_int) -> $type {
                update(address, order, site(), |_| value)
            }
            fn $strong(address: *mut $type, expected: *mut $type, new: $type, order: c_int,
                       otherwise: c_int) -> c_int {
                reuse::expected(unsafe { *expected } as u64, site());
                unsafe { compare_exchange(address, expected, new, order, otherwise, site()) }
            }
            fn $weak(address: *mut $type, expected: *mut $type, new: $type, order: c_int,
                     otherwise: c_int) -> c_int {
                reuse::expected(unsafe { *expected } as u64, site());
                unsafe { compare_exchange(address, expected, new, order, otherwise, site()) }
            }
            fn $compare(address: *mut $type, expected: $type, new: $type, order: c_int,
                        otherwise: c_int) -> $type {
                reuse::expected(expected as u64, site());
                compare(address, expected, new, order, otherwise, site())
            }
            fn $add(address: *mut $type, value: $type, order: c_int) -> $type {
                update(address, order, site(), |old| old.wrapping_add(value))
            }
            fn $sub(address: *mut $type, value: $type, order: c_int) -> $type {
                update(address, order, site(), |old| old.wrapping_sub(value))
            }
            fn $and(address: *mut $type, value: $type, order: c_int) -> $type {
                update(address, order, site(), |old| old & value)
            }
            fn $or(address: *mut $type, value: $type, order: c_int) -> $type {
                update(address, order, site(), |old| old | value)
            }
            fn $xor(address: *mut $type, value: $type, order: c_int) -> $type {
                update(address, order, site(), |old| old ^ value)
            }
            fn $nand(address: *mut $type, value: $type, order: c_int) -> $type {
                update(address, order, site(), |old| !(old & value))
            }
        }

        impl Value for $type {
            fn low(self) -> u64 {
                self as u64
            }
        }
    )*};
}

trait Value: Copy + PartialEq {
    /// The lowest 64 bits of the value, for the record.
    fn low(self) -> u64;
}

fn update<T: Value>(address: *mut T, order: c_int, site: u64, new: impl FnOnce(T) -> T) -> T {
    let point = before(address as u64, size_of::<T>(), Operation::Update, Order(order), site);
    // SAFETY: the program passed this address for an atomic access of this type; an invalid one
    // faults as the program's own access would. The controlled process has one kernel thread, so
    // nothing comes in between.
    let (old, value) = unsafe {
        let old = address.read_volatile();
        let value = new(old);
        address.write_volatile(value);
        (old, value)
    };
    after(address as u64, true, true, Order(order), point.then_some(value.low()));
    old
}

fn compare<T: Value>(
    address: *mut T,
    expected: T,
    new: T,
    order: c_int,
    otherwise: c_int,
    site: u64,
) -> T {
    let point = before(address as u64, size_of::<T>(), Operation::Update, Order(order), site);
    // SAFETY: as in `update`.
    let (old, succeeds) = unsafe {
        let old = address.read_volatile();
        let succeeds = old == expected;
        if succeeds {
            address.write_volatile(new);
        }
        (old, succeeds)
    };
    let order = Order(if succeeds { order } else { otherwise });
    let value = if succeeds { new } else { old };
    after(address as u64, true, succeeds, order, point.then_some(value.low()));
    old
}

/// A compare-exchange in the form of C11, which returns whether it succeeded and otherwise stores
/// the value that it found.
///
/// # Safety
/// `expected` is valid for reads and writes.
unsafe fn compare_exchange<T: Value>(
    address: *mut T,
    expected: *mut T,
    new: T,
    order: c_int,
    otherwise: c_int,
    site: u64,
) -> c_int {
    // SAFETY: the caller guarantees it.
    let wanted = unsafe { *expected };
    let found = compare(address, wanted, new, order, otherwise, site);
    if found != wanted {
        // SAFETY: as above.
        unsafe { *expected = found };
    }
    c_int::from(found == wanted)
}

atomics! {
    u8: __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_exchange,
        __tsan_atomic8_compare_exchange_strong, __tsan_atomic8_compare_exchange_weak,
        __tsan_atomic8_compare_exchange_val, __tsan_atomic8_fetch_add, __tsan_atomic8_fetch_sub,
        __tsan_atomic8_fetch_and, __tsan_atomic8_fetch_or, __tsan_atomic8_fetch_xor,
        __tsan_atomic8_fetch_nand;
    u16: __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_exchange,
        __tsan_atomic16_compare_exchange_strong, __tsan_atomic16_compare_exchange_weak,
        __tsan_atomic16_compare_exchange_val, __tsan_atomic16_fetch_add, __tsan_atomic16_fetch_sub,
        __tsan_atomic16_fetch_and, __tsan_atomic16_fetch_or, __tsan_atomic16_fetch_xor,
        __tsan_atomic16_fetch_nand;
    u32: __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_exchange,
        __tsan_atomic32_compare_exchange_strong, __tsan_atomic32_compare_exchange_weak,
        __tsan_atomic32_compare_exchange_val, __tsan_atomic32_fetch_add, __tsan_atomic32_fetch_sub,
        __tsan_atomic32_fetch_and, __tsan_atomic32_fetch_or, __tsan_atomic32_fetch_xor,
        __tsan_atomic32_fetch_nand;
    u64: __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_exchange,
        __tsan_atomic64_compare_exchange_strong, __tsan_atomic64_compare_exchange_weak,
        __tsan_atomic64_compare_exchange_val, __tsan_atomic64_fetch_add, __tsan_atomic64_fetch_sub,
        __tsan_atomic64_fetch_and, __tsan_atomic64_fetch_or, __tsan_atomic64_fetch_xor,
        __tsan_atomic64_fetch_nand;
    u128: __tsan_atomic128_load, __tsan_atomic128_store, __tsan_atomic128_exchange,
        __tsan_atomic128_compare_exchange_strong, __tsan_atomic128_compare_exchange_weak,
        __tsan_atomic128_compare_exchange_val, __tsan_atomic128_fetch_add, __tsan_atomic128_fetch_sub,
        __tsan_atomic128_fetch_and, __tsan_atomic128_fetch_or, __tsan_atomic128_fetch_xor,
        __tsan_atomic128_fetch_nand;
}

//! Shared by the classic programs in Rust: the argument selects the planted mistake; and a sheet that
//! every thread signs, made of POSIX objects, to plant the mistakes that the standard library makes impossible.

use std::cell::UnsafeCell;
use std::ptr::{addr_of_mut, null};

/// Whether this mistake is planted.
pub fn mistake(name: &str) -> bool {
    std::env::args().nth(1).is_some_and(|planted| planted == name)
}

/// The mistakes planted in the sheet. With another one, no thread signs.
const OF_THE_SHEET: [&str; 9] = [
    "unlock-not-held",
    "object-in-use",
    "used-destroyed",
    "wait-mutex",
    "uninitialised",
    "posix-self-deadlock",
    "posix-barrier-count",
    "posix-read-recursion",
    "posix-lock-left-held",
];

/// As many bytes as the C library's objects have, aligned as they are.
type Object<const WORDS: usize> = UnsafeCell<[u64; WORDS]>;

unsafe extern "C" {
    pub safe fn pthread_detach(thread: u64) -> i32;
    fn pthread_mutex_lock(mutex: *mut [u64; 5]) -> i32;
    fn pthread_mutex_trylock(mutex: *mut [u64; 5]) -> i32;
    fn pthread_mutex_unlock(mutex: *mut [u64; 5]) -> i32;
    fn pthread_mutex_destroy(mutex: *mut [u64; 5]) -> i32;
    fn pthread_cond_wait(condition: *mut [u64; 6], mutex: *mut [u64; 5]) -> i32;
    fn pthread_cond_signal(condition: *mut [u64; 6]) -> i32;
    fn pthread_rwlockattr_setkind_np(attributes: *mut u64, kind: i32) -> i32;
    fn pthread_rwlock_init(lock: *mut [u64; 7], attributes: *const u64) -> i32;
    fn pthread_rwlock_rdlock(lock: *mut [u64; 7]) -> i32;
    fn pthread_rwlock_wrlock(lock: *mut [u64; 7]) -> i32;
    fn pthread_rwlock_unlock(lock: *mut [u64; 7]) -> i32;
    fn pthread_rwlock_destroy(lock: *mut [u64; 7]) -> i32;
    fn pthread_barrier_init(barrier: *mut [u64; 4], attributes: *const u64, count: u32) -> i32;
    fn pthread_barrier_wait(barrier: *mut [u64; 4]) -> i32;
}

/// A mutex for the names, a condition for when all are there, a read-write lock for the rules, a barrier at the
/// door.
pub struct Sheet {
    names: Object<5>,
    shelf: Object<5>,
    complete: Object<6>,
    rules: Object<7>,
    door: Object<4>,
    signed: UnsafeCell<u32>,
    everybody: u32,
    is_used: bool,
}

// SAFETY: as far as the program makes no mistake.
unsafe impl Sync for Sheet {}

impl Sheet {
    /// For this many threads and the one that collects it.
    pub fn new(everybody: u32) -> &'static Sheet {
        let sheet: &Sheet = Box::leak(Box::new(Sheet {
            names: UnsafeCell::new([0; 5]),
            shelf: UnsafeCell::new([0; 5]),
            complete: UnsafeCell::new([0; 6]),
            rules: UnsafeCell::new([0; 7]),
            door: UnsafeCell::new([0; 4]),
            signed: UnsafeCell::new(0),
            everybody,
            is_used: std::env::args()
                .nth(1)
                .is_none_or(|planted| OF_THE_SHEET.contains(&planted.as_str())),
        }));
        // SAFETY: objects of these types; zeros are what the initialisers of C are.
        unsafe {
            // A reader waits as soon as a writer does.
            let mut prefers_writers = 0;
            pthread_rwlockattr_setkind_np(addr_of_mut!(prefers_writers), 2);
            pthread_rwlock_init(sheet.rules.get(), &prefers_writers);
            let more = u32::from(mistake("posix-barrier-count"));
            pthread_barrier_init(sheet.door.get(), null(), everybody + 1 + more);
            if mistake("uninitialised") {
                // A copy of what is locked is no lock.
                pthread_mutex_lock(sheet.shelf.get());
                *sheet.names.get() = *sheet.shelf.get();
                pthread_mutex_unlock(sheet.shelf.get());
            }
        }
        sheet
    }

    /// Called by each thread, at the door.
    pub fn sign(&self) {
        if !self.is_used {
            return;
        }
        // SAFETY: objects of these types.
        unsafe {
            pthread_barrier_wait(self.door.get());
            pthread_rwlock_rdlock(self.rules.get());
            if mistake("posix-read-recursion") {
                pthread_rwlock_rdlock(self.rules.get());
                pthread_rwlock_unlock(self.rules.get());
            }
            pthread_rwlock_unlock(self.rules.get());
            if mistake("used-destroyed") {
                // Destroyed before the other threads have read the rules.
                pthread_rwlock_destroy(self.rules.get());
            }
            pthread_mutex_lock(self.names.get());
            if mistake("posix-self-deadlock") {
                pthread_mutex_lock(self.names.get());
            }
            *self.signed.get() += 1;
            pthread_cond_signal(self.complete.get());
            pthread_mutex_unlock(self.names.get());
            if mistake("unlock-not-held") {
                pthread_mutex_unlock(self.names.get());
            }
            if mistake("posix-lock-left-held") {
                pthread_mutex_trylock(self.shelf.get());
            }
        }
    }

    /// Waits until all threads have signed, and destroys the sheet.
    pub fn collect(&self) {
        if !self.is_used {
            return;
        }
        // SAFETY: objects of these types.
        unsafe {
            pthread_barrier_wait(self.door.get());
            pthread_rwlock_wrlock(self.rules.get());
            pthread_rwlock_unlock(self.rules.get());
            if !mistake("object-in-use") {
                pthread_mutex_lock(self.names.get());
                while *self.signed.get() < self.everybody {
                    let other = mistake("wait-mutex");
                    let held = if other { self.shelf.get() } else { self.names.get() };
                    pthread_cond_wait(self.complete.get(), held);
                }
                pthread_mutex_unlock(self.names.get());
            }
            pthread_mutex_destroy(self.names.get());
        }
    }
}

//! A value with exclusive borrows that are checked at run time, and that survive an abandoned stack.

use crate::sys::channel;
use std::cell::{Cell, UnsafeCell};
use std::ops::{Deref, DerefMut};

/// A [`std::cell::RefCell`] with exclusive borrows only, whose borrows can be ended from outside.
///
/// The end of an execution abandons the running stack without unwinding, so that guards on it are
/// never dropped; and a process may die during a borrow of memory that another process continues
/// to use.
pub(crate) struct Exclusive<T> {
    borrowed: Cell<bool>,
    value: UnsafeCell<T>,
}

/// The borrow of an [`Exclusive`].
pub(crate) struct Borrow<'a, T>(&'a Exclusive<T>);

impl<T> Exclusive<T> {
    pub(crate) const fn new(value: T) -> Exclusive<T> {
        Exclusive { borrowed: Cell::new(false), value: UnsafeCell::new(value) }
    }

    /// Borrows the value. A second borrow while the first exists ends the process with a message.
    #[inline]
    pub(crate) fn borrow(&self) -> Borrow<'_, T> {
        if self.borrowed.replace(true) {
            borrowed_twice();
        }
        Borrow(self)
    }

    /// Borrows the value, unless it is borrowed.
    pub(crate) fn try_borrow(&self) -> Option<Borrow<'_, T>> {
        (!self.borrowed.replace(true)).then(|| Borrow(self))
    }

    /// Stores a value, and returns the one that was there.
    pub(crate) fn replace(&self, value: T) -> T {
        std::mem::replace(&mut *self.borrow(), value)
    }

    /// Stores a value.
    pub(crate) fn set(&self, value: T) {
        *self.borrow() = value;
    }

    /// Ends the borrows of abandoned stacks and of processes that died.
    ///
    /// # Safety
    ///
    /// No [`Borrow`] of the value is used or dropped after this call.
    pub(crate) unsafe fn end_borrows(&self) {
        self.borrowed.set(false);
    }
}

impl<T: Default> Exclusive<T> {
    /// Takes the value out.
    pub(crate) fn take(&self) -> T {
        self.replace(T::default())
    }
}

impl<T: Clone> Exclusive<T> {
    /// A copy of the value.
    pub(crate) fn cloned(&self) -> T {
        self.borrow().clone()
    }
}

#[cold]
fn borrowed_twice() -> ! {
    channel::fail("state of the runtime was borrowed twice")
}

impl<T> Deref for Borrow<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `borrow` creates a guard only if there is no other one, and only one kernel
        // thread of one process at a time uses the value. So no other reference to it exists.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Borrow<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `&mut self` prevents two references from this guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Borrow<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.borrowed.set(false);
    }
}

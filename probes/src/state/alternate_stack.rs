//! Alternate signal stacks (`sigaltstack`).

/// `SS_AUTODISARM`: the stack is not set while a handler runs on it.
const SS_AUTODISARM: i32 = 1 << 31;

/// The alternate stack that a task has set, as the kernel stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlternateStack {
    pub(crate) low: u64,
    /// 0 if no stack is set.
    pub(crate) size: u64,
    pub(crate) flags: i32,
}

/// A handler that runs on an alternate stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnAlternateStack {
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// The stack pointer of what the handler interrupted, on another stack.
    pub(crate) from: u64,
}

impl AlternateStack {
    pub(crate) const NONE: AlternateStack =
        AlternateStack { low: 0, size: 0, flags: libc::SS_DISABLE };

    /// The stack of this size from `low` on, or none. An error number if the kernel refuses it.
    pub(crate) fn new(low: u64, size: u64, flags: i32) -> Result<AlternateStack, i32> {
        match flags & !SS_AUTODISARM {
            libc::SS_DISABLE => Ok(AlternateStack { low: 0, size: 0, flags }),
            0 | libc::SS_ONSTACK if size < libc::MINSIGSTKSZ as u64 => Err(libc::ENOMEM),
            0 | libc::SS_ONSTACK => Ok(AlternateStack { low, size, flags }),
            _ => Err(libc::EINVAL),
        }
    }

    /// Where it ends.
    pub(crate) fn high(self) -> u64 {
        self.low.wrapping_add(self.size)
    }

    /// Whether it is set to be unset while a handler runs.
    pub(crate) fn is_disarmed_by_handlers(self) -> bool {
        self.flags & SS_AUTODISARM != 0
    }

    /// Whether code with this stack pointer runs on it.
    pub(crate) fn is_used_at(self, sp: u64) -> bool {
        !self.is_disarmed_by_handlers() && sp > self.low && sp - self.low <= self.size
    }

    /// The flags that `sigaltstack` reports to code with this stack pointer.
    pub(crate) fn flags_at(self, sp: u64) -> i32 {
        let state = match self.size {
            0 => libc::SS_DISABLE,
            _ if self.is_used_at(sp) => libc::SS_ONSTACK,
            _ => 0,
        };
        state | self.flags & SS_AUTODISARM
    }
}

impl OnAlternateStack {
    pub(crate) const NONE: OnAlternateStack = OnAlternateStack { low: 0, high: 0, from: 0 };

    /// Whether this address is on the stack of the handler.
    pub(crate) fn has(self, address: u64) -> bool {
        (self.low..self.high).contains(&address)
    }

    /// Whether a frame with the stack pointer `inner` belongs to what a frame with `outer` called: the frames of an
    /// alternate stack are the inner ones, wherever it is.
    pub(crate) fn is_inside(self, inner: u64, outer: u64) -> bool {
        match (self.has(inner), self.has(outer)) {
            (true, false) => true,
            (false, true) => false,
            _ => inner < outer,
        }
    }
}

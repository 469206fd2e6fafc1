//! The registers used for unwinding, numbered as by DWARF on x86-64.

use traces::wire::TaskInfo;

pub(super) const RBX: u16 = 3;
pub(super) const RBP: u16 = 6;
pub(super) const RSP: u16 = 7;
pub(super) const RIP: u16 = 16;

/// The general registers, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers([Option<u64>; 17]);

impl Registers {
    /// The value of a register, by its DWARF number (16 is rip).
    #[must_use]
    pub fn get(&self, register: u16) -> Option<u64> {
        self.0.get(usize::from(register)).copied().flatten()
    }

    /// Sets a register, by its DWARF number. Other numbers are ignored.
    pub fn set(&mut self, register: u16, value: Option<u64>) {
        if let Some(slot) = self.0.get_mut(usize::from(register)) {
            *slot = value;
        }
    }

    /// The instruction pointer.
    #[must_use]
    pub fn rip(&self) -> Option<u64> {
        self.get(RIP)
    }

    /// The stack pointer.
    #[must_use]
    pub fn rsp(&self) -> Option<u64> {
        self.get(RSP)
    }

    /// Whether a function must preserve a register.
    pub(super) fn is_callee_saved(register: u16) -> bool {
        matches!(register, RBX | RBP | 12..=15)
    }
}

impl From<&TaskInfo> for Registers {
    fn from(task: &TaskInfo) -> Registers {
        let mut registers = Registers::default();
        let values = [
            (RIP, task.rip),
            (RSP, task.rsp),
            (RBP, task.rbp),
            (RBX, task.rbx),
            (12, task.r12),
            (13, task.r13),
            (14, task.r14),
            (15, task.r15),
        ];
        for (register, value) in values {
            registers.set(register, Some(value));
        }
        registers
    }
}

impl From<&libc::user_regs_struct> for Registers {
    fn from(r: &libc::user_regs_struct) -> Registers {
        let values = [
            r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11,
            r.r12, r.r13, r.r14, r.r15, r.rip,
        ];
        Registers(values.map(Some))
    }
}

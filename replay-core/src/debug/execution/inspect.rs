//! Inspects the current position: whose code it is, and a digest that identifies the state.

use super::position::Until;
use super::{Condition, Execution};
use crate::Error;
use crate::debug::process::registers::Values;
use crate::symbols::Memory;
use traces::agent_expression;

impl Execution {
    /// The running task's stack pointer.
    pub(super) fn rsp(&self) -> Result<u64, Error> {
        Ok(self.live.tracee().registers()?.rsp)
    }

    /// A digest of registers and stack, which distinguishes two visits of the same instruction.
    pub(super) fn digest(&self) -> Result<u64, Error> {
        let r = self.live.tracee().registers()?;
        let mut stack = [0u8; 512];
        self.live.tracee().read(r.rsp, &mut stack);
        let words = [
            r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11,
            r.r12, r.r13, r.r14, r.r15, r.rip, r.eflags, r.fs_base,
        ];
        let mut hash = blake3::Hasher::new();
        for word in words {
            hash.update(&word.to_le_bytes());
        }
        hash.update(&stack);
        let bytes = hash.finalize();
        let mut word = [0; 8];
        word.copy_from_slice(&bytes.as_bytes()[..8]);
        Ok(u64::from_le_bytes(word))
    }

    /// Whether the current state is the one that `until` describes.
    pub(crate) fn matches_state(&self, until: Until) -> Result<bool, Error> {
        match until {
            Until::AtState(_, digest) => Ok(self.digest()? == digest),
            _ => Ok(false),
        }
    }

    /// Whether this code runs on behalf of the runtime: C library code called by the runtime is
    /// hidden.
    pub(super) fn is_hidden(&self) -> Result<bool, Error> {
        let registers = self.live.tracee().registers()?;
        if !self.is_system(registers.rip) {
            return Ok(false);
        }
        let outside = |address: u64| self.is_system(address);
        let found = self.symbols.outside(
            &crate::symbols::Registers::from(&registers),
            true,
            self.live.tracee(),
            &outside,
        );
        Ok(found
            .and_then(|(registers, _)| registers.rip())
            .is_some_and(|rip| self.live.is_runtime(rip)))
    }

    /// Whether an address is in the C library or the dynamic loader.
    pub(super) fn is_system(&self, address: u64) -> bool {
        let Some(site) = self.symbols.site(address) else { return false };
        let module = &self.symbols.map().modules()[usize::from(site.module)].module.path;
        let file = module.rsplit('/').next().unwrap_or_default();
        file.starts_with("libc.") || file.starts_with("libc-") || file.starts_with("ld-linux")
    }

    /// Whether a breakpoint's conditions hold.
    pub(super) fn holds(&self, at: u64) -> bool {
        self.armed.breakpoints.get(&at).is_none_or(|conditions| self.is_one_met(conditions))
    }

    /// Whether one of the conditions of a breakpoint holds, or it has none.
    pub(super) fn is_one_met(&self, conditions: &[Condition]) -> bool {
        if conditions.is_empty() {
            return true;
        }
        let Ok(registers) = self.live.tracee().registers() else { return true };
        let register = |number| Values::of(&registers, &[]).word(number);
        let read = |at, bytes: &mut [u8]| self.live.tracee().read(at, bytes) == bytes.len();
        conditions.iter().any(|condition| {
            agent_expression::evaluate(condition, &register, &read)
                // If a condition cannot be evaluated here, the debugger evaluates it.
                .is_none_or(|value| value != 0)
        })
    }
}

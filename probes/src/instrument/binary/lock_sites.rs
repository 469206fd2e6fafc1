//! Where a function locks a mutex of Rust's standard library.
//!
//! The library's `lock` is part of each function that calls it: a compare-and-swap that changes the mutex's word
//! from 0 to 1 and, if that fails, a call of `lock_contended`, which has no other caller. So a compare-and-swap
//! whose failure leads straight to such a call takes the mutex as soon as that is free, whatever happens in
//! between. An attempt (`try_lock`) is a compare-and-swap without such a call behind it.
//!
//! Code that is not optimised calls a function for the compare-and-swap. One such call in a function that calls
//! `lock_contended` once is the lock.
//!
//! A lock that is not found here is explored as an attempt which may be followed by a lock: exact, but with more
//! alternatives.

use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// The most instructions between a compare-and-swap and the call.
const MOST_FOLLOWED: usize = 16;

/// How an instruction takes part in a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockPart {
    /// The entry of the function that waits for a mutex, which the runtime takes in its place.
    Wait,
    /// The compare-and-swap of a lock.
    Exchange,
    /// The call of a function that makes the compare-and-swap of a lock.
    Call,
}

/// An exchange of a word of four bytes with a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Exchange {
    /// The instruction is none.
    #[default]
    None,
    /// A compare-and-swap that stores the register's low half if the word is equal to that of rax.
    IfEqual(u8),
    /// It stores the register's low half.
    Always(u8),
}

impl Exchange {
    /// Which exchange the instruction is.
    pub(crate) fn of(instruction: &Instruction) -> Exchange {
        let is_word = instruction.op0_kind() == OpKind::Memory
            && instruction.op1_register().is_gpr32()
            && instruction.memory_segment() != Register::FS;
        let register = instruction.op1_register().number() as u8;
        match instruction.mnemonic() {
            Mnemonic::Cmpxchg if is_word && instruction.has_lock_prefix() => {
                Exchange::IfEqual(register)
            }
            Mnemonic::Xchg if is_word => Exchange::Always(register),
            _ => Exchange::None,
        }
    }
}

/// The instructions of a function that lock a mutex. `waits`: whether an instruction calls the function that waits
/// for a mutex; `exchanges`: whether it calls one that compares and swaps.
pub(crate) fn find(
    function: &[Instruction],
    waits: impl Fn(&Instruction) -> bool,
    exchanges: impl Fn(&Instruction) -> bool,
) -> Vec<(u64, LockPart)> {
    let waiting: Vec<u64> = function.iter().filter(|one| waits(one)).map(Instruction::ip).collect();
    let [first, others @ ..] = &waiting[..] else { return Vec::new() };
    let fails_to_wait = |at: &usize| {
        matches!(Exchange::of(&function[*at]), Exchange::IfEqual(_))
            && failure(function, at + 1).is_some_and(|from| leads(function, from, &waits))
    };
    let found: Vec<usize> = (0..function.len()).filter(fails_to_wait).collect();
    if !found.is_empty() {
        return found.into_iter().map(|at| (function[at].ip(), LockPart::Exchange)).collect();
    }
    let mut calls = function.iter().filter(|one| exchanges(one));
    match (calls.next(), calls.next()) {
        (Some(call), None) if others.is_empty() && call.ip() < *first => {
            vec![(call.ip(), LockPart::Call)]
        }
        _ => Vec::new(),
    }
}

/// The index of the first instruction that is executed only if the compare-and-swap before `from` fails.
fn failure(function: &[Instruction], from: usize) -> Option<usize> {
    let keeps_flags = |one: &&Instruction| {
        matches!(one.mnemonic(), Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Nop)
    };
    let moves = function[from..].iter().take(MOST_FOLLOWED).take_while(keeps_flags).count();
    let branches = |one: &&Instruction| one.flow_control() == FlowControl::ConditionalBranch;
    let branch = function.get(from + moves).filter(branches)?;
    match branch.condition_code() {
        ConditionCode::ne => position(function, branch.near_branch_target()),
        ConditionCode::e => Some(from + moves + 1),
        _ => None,
    }
}

/// Whether the instructions from here on lead to a call that waits, without a branch.
fn leads(function: &[Instruction], from: usize, waits: &impl Fn(&Instruction) -> bool) -> bool {
    let mut at = from;
    for _ in 0..MOST_FOLLOWED {
        let Some(one) = function.get(at) else { return false };
        if waits(one) {
            return true;
        }
        at = match one.flow_control() {
            FlowControl::Next => at + 1,
            FlowControl::UnconditionalBranch => {
                match position(function, one.near_branch_target()) {
                    Some(target) => target,
                    None => return false,
                }
            }
            _ => return false,
        };
    }
    false
}

fn position(function: &[Instruction], address: u64) -> Option<usize> {
    function.binary_search_by_key(&address, Instruction::ip).ok()
}

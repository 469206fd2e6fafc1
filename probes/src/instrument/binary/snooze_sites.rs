//! Where a channel of Rust's standard library counts how often it has waited for a moment.
//!
//! The channels wait for what another thread is about to do with `Backoff::spin_heavy`: it pauses the longer,
//! the more often it was called, and lets other threads run from the eighth time on. `spin_light` only pauses.
//! Their count decides nothing else, and is in a new state after each iteration of the loop. In optimised code
//! they are part of the functions of the channels.
//!
//! ```text
//!     cmp  count, 7
//!     jae  yields
//!     ...                 pauses count * count times
//! counts:
//!     inc  count
//!     ...
//! yields:
//!     call yield_now
//!     inc  count
//! ```
//!
//! Some compilers keep the square of the count in a second register, to which they add twice the count and 1.
//!
//! The other function is a comparison with 6 by which the smaller number is moved, and squared.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

/// The most instructions from a branch to a pause.
const MOST_FOLLOWED: usize = 24;
/// The most instructions from a call to the increment of the count.
const MOST_BEFORE_INCREMENT: usize = 7;

/// The registers that change with the count: the count, and its square. Without a square, the count twice.
pub(crate) type Counters = (u8, u8);

/// The comparisons of a function that decide between pausing and letting others run, or how long it pauses: the
/// address of each, and the registers that change with the count.
pub(crate) fn find(function: &[Instruction]) -> Vec<(u64, Counters)> {
    let compared = |at: &usize| {
        let (compare, branch) = (&function[*at], function.get(at + 1)?);
        let count = compare.op0_register();
        let is_count = compare.mnemonic() == Mnemonic::Cmp
            && count.is_gpr32()
            && matches!(compare.op1_kind(), OpKind::Immediate8 | OpKind::Immediate8to32);
        if is_count && compare.immediate(1) == 6 && moves_smaller(&function[at + 1..], count) {
            return Some((compare.ip(), (count.number() as u8, count.number() as u8)));
        }
        let target = position(function, branch.near_branch_target());
        let (yields, pauses) = match (branch.mnemonic(), compare.immediate(1)) {
            _ if !is_count => return None,
            (Mnemonic::Jae, 7) | (Mnemonic::Ja, 6) => (target?, at + 2),
            (Mnemonic::Jb, 7) | (Mnemonic::Jbe, 6) => (at + 2, target?),
            _ => return None,
        };
        let square = yields_and_counts(function, yields, count)?;
        let is_backoff = pauses_for(function, pauses, square.is_none());
        let square = square.unwrap_or(count);
        is_backoff.then_some((compare.ip(), (count.number() as u8, square.number() as u8)))
    };
    (0..function.len()).filter_map(|at| compared(&at)).collect()
}

/// If the code from here on calls a function, and increments the count then: the register that holds the square
/// of the count, if there is one.
fn yields_and_counts(
    function: &[Instruction],
    from: usize,
    count: Register,
) -> Option<Option<Register>> {
    let call = function.get(from)?;
    let calls = matches!(call.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    let behind = &function[from + 1..];
    let behind = &behind[..behind.len().min(MOST_BEFORE_INCREMENT + 2)];
    let counts = behind.iter().take(MOST_BEFORE_INCREMENT).any(|one| increments(one, count));
    let is_double = |one: &&Instruction| {
        one.mnemonic() == Mnemonic::Lea
            && one.memory_index().full_register32() == count
            && (one.memory_index_scale(), one.memory_base()) == (2, Register::None)
            && one.memory_displacement64() == 1
    };
    let double = behind.iter().find(is_double).map(Instruction::op0_register);
    let adds =
        |one: &&Instruction| one.mnemonic() == Mnemonic::Add && Some(one.op1_register()) == double;
    let square = double.and_then(|_| behind.iter().find(adds)).map(Instruction::op0_register);
    (calls && counts && (double.is_none() || square.is_some())).then_some(square)
}

/// Whether the code moves the smaller of the count and the number that it was compared with, and pauses for the
/// square of that.
fn moves_smaller(behind: &[Instruction], count: Register) -> bool {
    let moved = behind.iter().take(MOST_BEFORE_INCREMENT).find(|one| {
        matches!(one.mnemonic(), Mnemonic::Cmovb | Mnemonic::Cmovbe) && one.op1_register() == count
    });
    let followed = &behind[..behind.len().min(MOST_FOLLOWED)];
    let squares = |smaller: Register| {
        let is_square = |one: &&Instruction| {
            one.mnemonic() == Mnemonic::Imul
                && [one.op0_register(), one.op1_register()] == [smaller, smaller]
        };
        let square = followed.iter().position(|one| is_square(&one));
        square.is_some_and(|at| followed[at..].iter().any(|one| one.mnemonic() == Mnemonic::Pause))
    };
    moved.is_some_and(|one| squares(one.op0_register()))
}

fn increments(one: &Instruction, count: Register) -> bool {
    let is_one = match one.mnemonic() {
        Mnemonic::Inc => true,
        Mnemonic::Add => one.op1_kind() != OpKind::Register && one.immediate(1) == 1,
        _ => false,
    };
    is_one && one.op0_register() == count
}

/// Whether the code from here on pauses, after it multiplied if it has to.
fn pauses_for(function: &[Instruction], from: usize, multiplies: bool) -> bool {
    let followed = &function[from.min(function.len())..];
    let mut followed = followed.iter().take(MOST_FOLLOWED);
    (!multiplies || followed.any(|one| one.mnemonic() == Mnemonic::Imul))
        && followed.any(|one| one.mnemonic() == Mnemonic::Pause)
}

fn position(function: &[Instruction], address: u64) -> Option<usize> {
    function.binary_search_by_key(&address, Instruction::ip).ok()
}

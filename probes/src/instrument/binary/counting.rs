//! Which atomic instructions count: they add to a number, of which the program observes nothing, or 1 to a number,
//! of which it observes at most whether it is positive then, as the reference counts of Rust's and C++'s libraries
//! do.
//!
//! Such an instruction returns nothing but flags. Of a positive result that is not the largest number, the zero,
//! sign, overflow and carry flags are known. The parity and the adjust flag are not: the code behind the
//! instruction must overwrite both before it reads one of them. If it does so with all flags, it observes nothing.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, RflagsBits};
use search::reduction::pending::Counting;

/// The most instructions that are followed.
const MOST_FOLLOWED: usize = 64;

/// The flags that depend on the counter's value.
const VARYING: u32 = RflagsBits::PF | RflagsBits::AF;

/// The flags that have known values after a positive result.
const KNOWN: u32 = RflagsBits::ZF | RflagsBits::SF | RflagsBits::OF | RflagsBits::CF;

/// How the instruction at this index of a function counts.
pub(super) fn of(function: &[Instruction], at: usize) -> Counting {
    if !adds(&function[at]) {
        return Counting::None;
    }
    if hides(function, at + 1, KNOWN | VARYING) {
        return Counting::Adds;
    }
    match adds_one(&function[at]) {
        Counting::None => Counting::None,
        counting if hides(function, at + 1, VARYING) => counting,
        _ => Counting::None,
    }
}

/// Whether the instruction adds to memory atomically, and returns nothing but flags.
fn adds(one: &Instruction) -> bool {
    use Mnemonic as M;
    one.has_lock_prefix()
        && one.op0_kind() == OpKind::Memory
        && matches!(one.mnemonic(), M::Inc | M::Dec | M::Add | M::Sub)
}

/// Whether such an instruction adds or subtracts 1.
fn adds_one(one: &Instruction) -> Counting {
    let number = match one.op1_kind() {
        OpKind::Immediate8 => one.immediate8() as i8,
        OpKind::Immediate8to16 => one.immediate8to16() as i8,
        OpKind::Immediate8to32 => one.immediate8to32() as i8,
        OpKind::Immediate8to64 => one.immediate8to64() as i8,
        _ => 0,
    };
    match (one.mnemonic(), number) {
        (Mnemonic::Inc, _) | (Mnemonic::Add, 1) | (Mnemonic::Sub, -1) => Counting::Raises,
        (Mnemonic::Dec, _) | (Mnemonic::Add, -1) | (Mnemonic::Sub, 1) => Counting::Lowers,
        _ => Counting::None,
    }
}

/// Whether the code from this index on overwrites the flags before it reads one. At a call and at the end of a
/// function they hold nothing (System V ABI for AMD64, 3.2.1). A jump to other code is a call in the place of a
/// return, or leads to a part of the function that the compiler moved away: such a part may read flags, but not the
/// varying ones, which only comparisons of floating-point numbers and decimal arithmetic set for others.
fn hides(function: &[Instruction], start: usize, flags: u32) -> bool {
    let mut followed = Vec::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        if followed.contains(&at) {
            continue;
        }
        followed.push(at);
        let Some(one) = function.get(at) else { return false };
        if followed.len() > MOST_FOLLOWED
            || one.rflags_read() & flags != 0
            || one.mnemonic() == Mnemonic::Syscall
        {
            return false;
        }
        let target = || {
            let target = one.near_branch_target();
            function.binary_search_by_key(&target, Instruction::ip)
        };
        match one.flow_control() {
            _ if one.rflags_modified() & flags == flags && !may_keep_flags(one) => {}
            FlowControl::Next => open.push(at + 1),
            FlowControl::ConditionalBranch => {
                let Ok(target) = target() else { return false };
                open.extend([target, at + 1]);
            }
            FlowControl::UnconditionalBranch => match target() {
                Ok(target) => open.push(target),
                Err(_) if flags == VARYING => {}
                Err(_) => return false,
            },
            FlowControl::Return
            | FlowControl::Call
            | FlowControl::IndirectCall
            | FlowControl::Exception => {}
            FlowControl::IndirectBranch
            | FlowControl::Interrupt
            | FlowControl::XbeginXabortXend => {
                return false;
            }
        }
    }
    true
}

/// Whether the instruction changes no flags if it shifts by 0, or repeats 0 times.
fn may_keep_flags(one: &Instruction) -> bool {
    use Mnemonic as M;
    let shifts = matches!(
        one.mnemonic(),
        M::Shl | M::Shr | M::Sal | M::Sar | M::Rol | M::Ror | M::Rcl | M::Rcr | M::Shld | M::Shrd
    );
    shifts || one.has_rep_prefix() || one.has_repne_prefix()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::code_asm::{
        AsmRegister64, CodeAssembler, byte_ptr, dword_ptr, qword_ptr, rax, rbx, rcx,
    };

    const ADDRESS: u64 = 0x1000;

    /// How the first instruction of a function counts.
    fn first(
        write: impl FnOnce(&mut CodeAssembler) -> Result<(), iced_x86::IcedError>,
    ) -> Counting {
        let mut code = CodeAssembler::new(64).expect("64 bits are supported");
        write(&mut code).expect("the instructions exist");
        let bytes = code.assemble(ADDRESS).expect("the code is complete");
        let decoder =
            iced_x86::Decoder::with_ip(64, &bytes, ADDRESS, iced_x86::DecoderOptions::NONE);
        of(&decoder.into_iter().collect::<Vec<_>>(), 0)
    }

    /// Code that observes whether the result is 0.
    fn last(code: &mut CodeAssembler, then: AsmRegister64) -> Result<(), iced_x86::IcedError> {
        let mut end = code.create_label();
        code.jne(end)?;
        code.mov(then, 1u64)?;
        code.set_label(&mut end)?;
        code.ret()
    }

    #[test]
    fn a_reference_count_counts() {
        let found = first(|code| {
            code.lock().dec(qword_ptr(rbx))?;
            last(code, rax)
        });
        assert_eq!(found, Counting::Lowers);
        let found = first(|code| {
            code.lock().sub(dword_ptr(rbx + 8), 1)?;
            last(code, rcx)
        });
        assert_eq!(found, Counting::Lowers);
        let found = first(|code| {
            code.lock().inc(qword_ptr(rbx))?;
            let mut end = code.create_label();
            code.jle(end)?;
            code.set_label(&mut end)?;
            code.xor(rax, rax)?;
            code.ret()
        });
        assert_eq!(found, Counting::Raises);
        let found = first(|code| {
            code.lock().add(byte_ptr(rbx), -1)?;
            last(code, rax)
        });
        assert_eq!(found, Counting::Lowers);
    }

    #[test]
    fn what_shows_nothing_of_the_value_adds() {
        let found = first(|code| {
            code.lock().add(qword_ptr(rbx), rax)?;
            code.ret()
        });
        assert_eq!(found, Counting::Adds);
        let found = first(|code| {
            code.lock().dec(dword_ptr(rbx))?;
            code.mov(rax, rcx)?;
            code.add(rax, rcx)?;
            code.ret()
        });
        assert_eq!(found, Counting::Adds);
        let found = first(|code| {
            code.lock().dec(dword_ptr(rbx))?;
            code.jmp(ADDRESS + 0x1000)
        });
        assert_eq!(found, Counting::Lowers, "other code may read flags");
    }

    #[test]
    fn what_shows_more_of_the_value_does_not_count() {
        let found = first(|code| {
            code.lock().dec(qword_ptr(rbx))?;
            code.setp(iced_x86::code_asm::al)?;
            code.ret()
        });
        assert_eq!(found, Counting::None, "the parity is read");
        let found = first(|code| {
            code.lock().dec(qword_ptr(rbx))?;
            code.pushfq()?;
            code.ret()
        });
        assert_eq!(found, Counting::None, "all flags are read");
        let found = first(|code| {
            code.lock().dec(qword_ptr(rbx))?;
            let mut end = code.create_label();
            code.je(end)?;
            code.xor(rax, rax)?;
            code.set_label(&mut end)?;
            code.lahf()?;
            code.ret()
        });
        assert_eq!(found, Counting::None, "one path reads the flags");
        let found = first(|code| {
            code.lock().dec(qword_ptr(rbx))?;
            code.shl(rax, iced_x86::code_asm::cl)?;
            code.pushfq()?;
            code.ret()
        });
        assert_eq!(found, Counting::None, "a shift by 0 keeps the flags");
        let found = first(|code| {
            code.lock().xadd(qword_ptr(rbx), rax)?;
            code.ret()
        });
        assert_eq!(found, Counting::None, "the value is returned");
        let found = first(|code| {
            code.lock().add(qword_ptr(rbx), 2)?;
            last(code, rax)
        });
        assert_eq!(found, Counting::None, "it adds more than 1");
        let found = first(|code| {
            code.dec(qword_ptr(rbx))?;
            code.ret()
        });
        assert_eq!(found, Counting::None, "it is not atomic");
    }
}

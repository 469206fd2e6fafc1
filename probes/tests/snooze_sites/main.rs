//! Where functions count how often they have waited, in functions as compilers make them. The runtime's source
//! file is compiled into this test.

#[path = "../../src/instrument/binary/snooze_sites.rs"]
mod snooze_sites;

use iced_x86::code_asm::*;
use iced_x86::{Decoder, DecoderOptions, IcedError, Instruction};
use snooze_sites::Counters;

const START: u64 = 0x1000;
/// The function that lets other threads run.
const YIELDS: u64 = 0x2000;
/// The numbers of r12d, r15d and ebx.
const R12: u8 = 12;
const R15: u8 = 15;
const RBX: u8 = 3;

fn decode(write: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>) -> Vec<Instruction> {
    let mut code = CodeAssembler::new(64).expect("64 bits");
    write(&mut code).expect("valid instructions");
    let bytes = code.assemble(START).expect("it can be encoded");
    Decoder::with_ip(64, &bytes, START, DecoderOptions::NONE).into_iter().collect()
}

/// The comparisons in a function, by the number of their instruction.
fn found(function: &[Instruction]) -> Vec<(usize, Counters)> {
    let number = |address| function.iter().position(|one| one.ip() == address);
    let all = snooze_sites::find(function).into_iter();
    all.map(|(address, counters)| (number(address).expect("in it"), counters)).collect()
}

/// A loop that reads, and pauses for the square of r15d or calls. `counts` is executed then.
fn wait(
    most: i32,
    counts: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>,
) -> Vec<Instruction> {
    decode(|code| {
        let [mut read, mut count, mut pause, mut yields] = [(); 4].map(|()| code.create_label());
        code.jmp(read)?;
        code.set_label(&mut yields)?;
        code.call(YIELDS)?;
        code.set_label(&mut count)?;
        counts(code)?;
        code.set_label(&mut read)?;
        code.mov(rcx, ptr(rbx))?;
        code.test(cl, 1)?;
        code.cmp(r15d, most)?;
        code.jae(yields)?;
        code.mov(ecx, r15d)?;
        code.imul_2(ecx, r15d)?;
        code.set_label(&mut pause)?;
        code.pause()?;
        code.dec(ecx)?;
        code.jne(pause)?;
        code.jmp(count)
    })
}

#[test]
fn a_count_that_decides_between_pauses_and_a_call_is_found() {
    assert_eq!(found(&wait(7, |code| code.inc(r15d))), [(5, (R15, R15))]);
    assert_eq!(found(&wait(7, |code| code.add(r15d, 1))), [(5, (R15, R15))]);
}

#[test]
fn other_counts_are_not_found() {
    // Another bound, another step, another register, and none.
    assert_eq!(found(&wait(8, |code| code.inc(r15d))), []);
    assert_eq!(found(&wait(7, |code| code.add(r15d, 2))), []);
    assert_eq!(found(&wait(7, |code| code.inc(r14d))), []);
    assert_eq!(found(&wait(7, |code| code.nop())), []);
}

#[test]
fn the_square_of_the_count_is_found_with_it() {
    let function = decode(|code| {
        let [mut read, mut count, mut pause, mut yields] = [(); 4].map(|()| code.create_label());
        code.jmp(read)?;
        code.set_label(&mut yields)?;
        code.call(qword_ptr(r14))?;
        code.set_label(&mut count)?;
        code.lea(eax, ptr(r12 * 2 + 1))?;
        code.inc(r12d)?;
        code.mov(rcx, ptr(r15))?;
        code.add(ebx, eax)?;
        code.set_label(&mut read)?;
        code.cmp(r12d, 7)?;
        code.jae(yields)?;
        code.lea(ecx, ptr(rbx - 1))?;
        code.set_label(&mut pause)?;
        code.pause()?;
        code.dec(ecx)?;
        code.jne(pause)?;
        code.jmp(count)
    });
    assert_eq!(found(&function), [(6, (R12, RBX))]);
}

#[test]
fn a_count_that_only_pauses_is_found() {
    let pauses = |moves: fn(&mut CodeAssembler) -> Result<(), IcedError>| {
        decode(|code| {
            let mut pause = code.create_label();
            code.cmp(r15d, 6)?;
            code.mov(ecx, 6)?;
            moves(code)?;
            code.imul_2(ecx, ecx)?;
            code.set_label(&mut pause)?;
            code.pause()?;
            code.dec(ecx)?;
            code.jne(pause)?;
            code.inc(r15d)?;
            code.ret()
        })
    };
    assert_eq!(found(&pauses(|code| code.cmovb(ecx, r15d))), [(0, (R15, R15))]);
    assert_eq!(found(&pauses(|code| code.cmovb(ecx, r14d))), []);
    assert_eq!(found(&pauses(|code| code.cmova(ecx, r15d))), []);
}

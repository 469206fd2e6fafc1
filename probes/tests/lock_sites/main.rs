//! Which instructions lock a mutex of Rust's standard library, in functions as compilers make them. The runtime's
//! source file is compiled into this test.

#[path = "../../src/instrument/binary/lock_sites.rs"]
mod lock_sites;

use iced_x86::code_asm::*;
use iced_x86::{Decoder, DecoderOptions, FlowControl, IcedError, Instruction};
use lock_sites::{Exchange, LockPart};

const START: u64 = 0x1000;
/// The function that waits for a mutex, the one that compares and swaps, and another one.
const WAITS: u64 = 0x2000;
const EXCHANGES: u64 = 0x3000;
const OTHER: u64 = 0x4000;

fn decode(write: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>) -> Vec<Instruction> {
    let mut code = CodeAssembler::new(64).expect("64 bits");
    write(&mut code).expect("valid instructions");
    let bytes = code.assemble(START).expect("it can be encoded");
    Decoder::with_ip(64, &bytes, START, DecoderOptions::NONE).into_iter().collect()
}

/// The parts of locks in a function, by the number of their instruction.
fn parts(function: &[Instruction]) -> Vec<(usize, LockPart)> {
    let calls = |one: &Instruction, target| {
        one.flow_control() == FlowControl::Call && one.near_branch_target() == target
    };
    let found = lock_sites::find(function, |one| calls(one, WAITS), |one| calls(one, EXCHANGES));
    // That function is found by its symbol.
    assert!(found.iter().all(|(_, part)| *part != LockPart::Wait));
    let number = |address| function.iter().position(|one| one.ip() == address);
    found.into_iter().map(|(address, part)| (number(address).expect("in it"), part)).collect()
}

/// A compare-and-swap of `[rbx]` from 0 to 1, and what `behind` writes: it may branch to the label where the
/// mutex is held.
fn exchange(
    behind: impl FnOnce(&mut CodeAssembler, &mut CodeLabel) -> Result<(), IcedError>,
) -> Vec<Instruction> {
    decode(|code| {
        let mut held = code.create_label();
        code.mov(ecx, 1)?;
        code.xor(eax, eax)?;
        code.lock().cmpxchg(dword_ptr(rbx), ecx)?;
        behind(code, &mut held)?;
        code.set_label(&mut held)?;
        code.ret()
    })
}

#[test]
fn a_failure_that_leads_to_the_wait_is_a_lock() {
    // The wait is out of the way, as in optimised code.
    let far = decode(|code| {
        let (mut fails, mut held) = (code.create_label(), code.create_label());
        code.lock().cmpxchg(dword_ptr(rsi + 16), ecx)?;
        code.jne(fails)?;
        code.set_label(&mut held)?;
        code.ret()?;
        code.set_label(&mut fails)?;
        code.mov(rbx, rdi)?;
        code.mov(rdi, rsi)?;
        code.call(WAITS)?;
        code.mov(rdi, rbx)?;
        code.jmp(held)
    });
    assert_eq!(parts(&far), [(0, LockPart::Exchange)]);
    // It follows, behind a move.
    let near = exchange(|code, held| {
        code.mov(r14, rbx)?;
        code.je(*held)?;
        code.lea(rdi, ptr(rbx))?;
        code.call(WAITS)
    });
    assert_eq!(parts(&near), [(2, LockPart::Exchange)]);
}

#[test]
fn other_exchanges_are_no_locks() {
    // An attempt.
    let attempt = exchange(|code, held| {
        code.je(*held)?;
        code.call(OTHER)
    });
    assert_eq!(parts(&attempt), []);
    // Whether it waits depends on more.
    let depends = exchange(|code, held| {
        code.je(*held)?;
        code.test(edx, edx)?;
        code.je(*held)?;
        code.call(WAITS)
    });
    assert_eq!(parts(&depends), []);
    // Another function is called in between.
    let calls = exchange(|code, held| {
        code.je(*held)?;
        code.call(OTHER)?;
        code.call(WAITS)
    });
    assert_eq!(parts(&calls), []);
    // It waits where the exchange succeeds.
    let succeeds = exchange(|code, held| {
        code.jne(*held)?;
        code.call(WAITS)
    });
    assert_eq!(parts(&succeeds), []);
    // The flags are those of something else.
    let flags = exchange(|code, held| {
        code.test(edx, edx)?;
        code.je(*held)?;
        code.call(WAITS)
    });
    assert_eq!(parts(&flags), []);
}

#[test]
fn each_lock_of_a_function_is_found() {
    let two = decode(|code| {
        for register in [rbx, r12] {
            let mut held = code.create_label();
            code.lock().cmpxchg(dword_ptr(register), ecx)?;
            code.je(held)?;
            code.mov(rdi, register)?;
            code.call(WAITS)?;
            code.set_label(&mut held)?;
            code.nop()?;
        }
        code.ret()
    });
    assert_eq!(parts(&two), [(0, LockPart::Exchange), (5, LockPart::Exchange)]);
}

#[test]
fn a_call_that_exchanges_is_a_lock_if_it_is_the_only_one() {
    let unoptimised = |calls: usize, waits: usize| {
        decode(move |code| {
            let mut held = code.create_label();
            for _ in 0..calls {
                code.call(EXCHANGES)?;
            }
            code.test(al, 1)?;
            code.je(held)?;
            for _ in 0..waits {
                code.call(WAITS)?;
            }
            code.set_label(&mut held)?;
            code.ret()
        })
    };
    assert_eq!(parts(&unoptimised(1, 1)), [(0, LockPart::Call)]);
    assert_eq!(parts(&unoptimised(2, 1)), []);
    assert_eq!(parts(&unoptimised(1, 2)), []);
    assert_eq!(parts(&unoptimised(1, 0)), []);
}

#[test]
fn an_exchange_is_of_four_bytes_in_shared_memory() {
    let of =
        |write: fn(&mut CodeAssembler) -> Result<(), IcedError>| Exchange::of(&decode(write)[0]);
    assert_eq!(of(|code| code.lock().cmpxchg(dword_ptr(rdi), r9d)), Exchange::IfEqual(9));
    assert_eq!(of(|code| code.xchg(dword_ptr(rdi + 8), eax)), Exchange::Always(0));
    assert_eq!(of(|code| code.cmpxchg(dword_ptr(rdi), r9d)), Exchange::None);
    assert_eq!(of(|code| code.lock().cmpxchg(qword_ptr(rdi), r9)), Exchange::None);
    assert_eq!(of(|code| code.xchg(byte_ptr(rdi), al)), Exchange::None);
    assert_eq!(of(|code| code.xchg(eax, ecx)), Exchange::None);
    assert_eq!(of(|code| code.xchg(dword_ptr(rdi).fs(), ecx)), Exchange::None);
    assert_eq!(of(|code| code.lock().add(dword_ptr(rdi), ecx)), Exchange::None);
}

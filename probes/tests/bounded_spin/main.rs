//! Which loops count their reads, in instructions as compilers make them. The runtime's source file is compiled
//! into this test.

#[path = "../../src/instrument/binary/bounded_spin.rs"]
mod bounded_spin;

use bounded_spin::BoundedSpin;
use iced_x86::code_asm::*;
use iced_x86::{Decoder, DecoderOptions, Instruction};

const START: u64 = 0x1000;

fn find(function: &[Instruction]) -> Vec<(u64, BoundedSpin)> {
    bounded_spin::find(function, false)
}

/// A function, given by what appends its instructions.
fn function(
    write: impl FnOnce(&mut CodeAssembler) -> Result<(), iced_x86::IcedError>,
) -> Vec<Instruction> {
    let mut code = CodeAssembler::new(64).expect("64 bits");
    write(&mut code).expect("valid instructions");
    let bytes = code.assemble(START).expect("it can be encoded");
    Decoder::with_ip(64, &bytes, START, DecoderOptions::NONE).into_iter().collect()
}

/// A spin that reads `[rbx]` until it is not 1, at most a hundred times, and then what `behind` writes.
fn spin(
    behind: impl FnOnce(&mut CodeAssembler) -> Result<(), iced_x86::IcedError>,
) -> Vec<Instruction> {
    function(|code| {
        let (mut again, mut out) = (code.create_label(), code.create_label());
        code.mov(ecx, 100)?;
        code.set_label(&mut again)?;
        code.pause()?;
        code.mov(eax, dword_ptr(rbx))?;
        code.cmp(eax, 1)?;
        code.jne(out)?;
        code.dec(ecx)?;
        code.jne(again)?;
        code.set_label(&mut out)?;
        behind(code)
    })
}

fn registers(value: u64, count: u64) -> [u64; 16] {
    let mut all = [7; 16];
    (all[0], all[1]) = (value, count);
    all
}

#[test]
fn a_loop_leads_from_one_read_to_the_next() {
    let found = find(&spin(CodeAssembler::ret));
    let [(read, spin)] = found[..] else { panic!("{found:?}") };
    assert_eq!(read, START + 7);
    assert!(spin.leads(&registers(5, 100), &registers(1, 99)));
    assert!(spin.leads(&registers(1, 2), &registers(1, 1)));
    // The loop begins anew, or the counter wraps around in 32 bits.
    assert!(!spin.leads(&registers(1, 1), &registers(1, 100)));
    assert!(!spin.leads(&registers(1, 100), &registers(1, 100)));
    assert!(spin.leads(&registers(1, 0), &registers(1, 0xffff_ffff)));
    let mut elsewhere = registers(1, 99);
    elsewhere[3] = 8;
    assert!(!spin.leads(&registers(1, 100), &elsewhere));
}

#[test]
fn a_count_that_is_used_behind_the_loop_matters() {
    assert!(find(&spin(|code| code.add(eax, ecx).and_then(|()| code.ret()))).is_empty());
    // Passed to a function, or returned.
    assert!(find(&spin(|code| code.call(r15).and_then(|()| code.ret()))).is_empty());
    assert!(find(&spin(|code| code.jmp(0x5000))).is_empty());
    // Only a part of it is replaced, and the whole is used.
    let in_part = |uses: bool| {
        spin(|code| {
            code.sete(cl)?;
            code.or(al, cl)?;
            if uses {
                code.add(eax, ecx)?;
            }
            code.ret()
        })
    };
    assert!(find(&in_part(true)).is_empty());
    assert_eq!(find(&in_part(false)).len(), 1);
    let replaced = |code: &mut CodeAssembler| {
        code.xor(ecx, ecx)?;
        code.call(r15)?;
        code.ret()
    };
    assert_eq!(find(&spin(replaced)).len(), 1);
}

#[test]
fn a_count_that_is_used_on_one_way_matters() {
    let branches = |uses: bool| {
        spin(|code| {
            let mut way = code.create_label();
            code.test(eax, eax)?;
            code.je(way)?;
            code.ret()?;
            code.set_label(&mut way)?;
            if uses {
                code.mov(dword_ptr(rdi), ecx)?;
            }
            code.ret()
        })
    };
    assert!(find(&branches(true)).is_empty());
    assert_eq!(find(&branches(false)).len(), 1);
}

/// The second loop of `lock_contended` of Rust's library: it counts in ecx, and computes the next count in edx.
fn two_registers(returns_garbage: bool) -> Vec<Instruction> {
    function(|code| {
        let (mut again, mut out) = (code.create_label(), code.create_label());
        if returns_garbage {
            code.call(r15)?;
            code.mov(eax, dword_ptr(rbx))?;
            code.cmp(eax, 1)?;
            code.jne(out)?;
        }
        code.mov(ecx, -99)?;
        code.set_label(&mut again)?;
        code.pause()?;
        code.mov(eax, dword_ptr(rbx))?;
        code.lea(edx, dword_ptr(rcx + 1))?;
        code.cmp(eax, 1)?;
        code.jne(out)?;
        code.test(ecx, ecx)?;
        code.mov(ecx, edx)?;
        code.jne(again)?;
        code.set_label(&mut out)?;
        code.ret()
    })
}

#[test]
fn a_second_return_register_may_be_a_result() {
    assert!(find(&two_registers(false)).is_empty());
    assert_eq!(bounded_spin::find(&two_registers(false), true).len(), 1);
    let found = find(&two_registers(true));
    let [(_, spin)] = found[..] else { panic!("{found:?}") };
    let at = |count: u64, next: u64| {
        let mut all = registers(1, count);
        all[2] = next;
        all
    };
    assert!(spin.leads(&at(0xffff_ff9d, 3), &at(0xffff_ff9e, 0xffff_ff9e)));
    assert!(!spin.leads(&at(0xffff_ff9d, 3), &at(0xffff_ff9e, 3)));
}

/// A loop around one read of `[rbx]`, with instructions before its end and its last branch.
fn around(
    body: impl FnOnce(&mut CodeAssembler, CodeLabel, CodeLabel) -> Result<(), iced_x86::IcedError>,
) -> Vec<Instruction> {
    function(|code| {
        let (mut again, mut out) = (code.create_label(), code.create_label());
        code.set_label(&mut again)?;
        code.mov(eax, dword_ptr(rbx))?;
        body(code, again, out)?;
        code.set_label(&mut out)?;
        code.ret()
    })
}

#[test]
fn a_loop_that_does_more_is_left_alone() {
    // It writes, it reads a second place, it calls, it reads the time, it moves along an array.
    let writes = around(|code, again, _| {
        code.mov(dword_ptr(rdi), 1)?;
        code.dec(ecx)?;
        code.jne(again)
    });
    let reads = around(|code, again, _| {
        code.mov(esi, dword_ptr(rdi))?;
        code.dec(ecx)?;
        code.jne(again)
    });
    let calls = around(|code, again, _| {
        code.call(r15)?;
        code.dec(r12d)?;
        code.jne(again)
    });
    let times = around(|code, again, _| {
        code.rdtsc()?;
        code.dec(ecx)?;
        code.jne(again)
    });
    let moves = around(|code, again, _| {
        code.add(rbx, 4)?;
        code.dec(ecx)?;
        code.jne(again)
    });
    for one in [writes, reads, calls, times, moves] {
        assert!(find(&one).is_empty(), "{one:?}");
    }
}

#[test]
fn a_loop_whose_end_depends_on_value_and_count_together_is_left_alone() {
    let compares = around(|code, again, _| {
        code.inc(ecx)?;
        code.cmp(eax, ecx)?;
        code.jne(again)
    });
    let remembers = around(|code, again, out| {
        code.cmp(eax, esi)?;
        code.jne(out)?;
        code.mov(esi, eax)?;
        code.dec(ecx)?;
        code.jne(again)
    });
    let doubles = around(|code, again, out| {
        code.cmp(eax, 1)?;
        code.jne(out)?;
        code.add(ecx, ecx)?;
        code.cmp(ecx, 64)?;
        code.jb(again)
    });
    // The flags are those of the iteration before.
    let late = around(|code, again, out| {
        code.jne(out)?;
        code.dec(ecx)?;
        code.jmp(again)
    });
    for one in [compares, remembers, doubles, late] {
        assert!(find(&one).is_empty(), "{one:?}");
    }
}

#[test]
fn a_loop_without_a_count_is_left_to_the_detection_of_spin_loops() {
    let forever = around(|code, again, _| {
        code.cmp(eax, 1)?;
        code.je(again)
    });
    assert!(find(&forever).is_empty());
}

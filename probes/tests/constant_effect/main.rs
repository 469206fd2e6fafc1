//! What a function that does the same each time changes, on code that is written here.

#[path = "../../src/instrument/binary/constant_effect.rs"]
mod constant_effect;

use constant_effect::Changed;
use iced_x86::code_asm::*;

const AT: u64 = 0x40_0ffa;

/// What a function changes. Its bytes are given out page by page, as they are read.
fn changed(write: impl Fn(&mut CodeAssembler)) -> Option<Changed> {
    let mut code = CodeAssembler::new(64).expect("this machine has 64 bits");
    write(&mut code);
    let bytes = code.assemble(AT).expect("the code is valid");
    constant_effect::of(AT, |address| {
        let end = (address | 0xfff) + 1;
        let at = (address - AT) as usize;
        &bytes[at..bytes.len().min((end - AT) as usize)]
    })
}

#[test]
fn a_handler_that_counts_changes_the_count_only() {
    let counts = |code: &mut CodeAssembler| {
        code.push(rbp).unwrap();
        code.mov(rbp, rsp).unwrap();
        code.mov(dword_ptr(rbp - 4), edi).unwrap();
        code.mov(eax, dword_ptr(0x40_4000)).unwrap();
        code.add(eax, 1).unwrap();
        code.mov(dword_ptr(0x40_4000), eax).unwrap();
        code.pop(rbp).unwrap();
        code.ret().unwrap();
    };
    assert_eq!(changed(counts), Some(vec![(0x40_4000, 0x40_4004)]));
    let adds = |code: &mut CodeAssembler| {
        code.lock().add(qword_ptr(0x40_4008), 1).unwrap();
        code.ret().unwrap();
    };
    assert_eq!(changed(adds), Some(vec![(0x40_4008, 0x40_4010)]));
}

#[test]
fn a_handler_that_decides_calls_or_follows_a_pointer_is_unknown() {
    let decides = |code: &mut CodeAssembler| {
        let mut over = code.create_label();
        code.add(dword_ptr(0x40_4000), 1).unwrap();
        code.jne(over).unwrap();
        code.mov(dword_ptr(0x40_4004), 1).unwrap();
        code.set_label(&mut over).unwrap();
        code.ret().unwrap();
    };
    assert_eq!(changed(decides), None);
    let calls = |code: &mut CodeAssembler| {
        code.call(0x40_2000).unwrap();
        code.ret().unwrap();
    };
    assert_eq!(changed(calls), None);
    let asks = |code: &mut CodeAssembler| {
        code.syscall().unwrap();
        code.ret().unwrap();
    };
    assert_eq!(changed(asks), None);
    let follows = |code: &mut CodeAssembler| {
        code.mov(rax, qword_ptr(0x40_4000)).unwrap();
        code.mov(dword_ptr(rax), 1).unwrap();
        code.ret().unwrap();
    };
    assert_eq!(changed(follows), None);
    let chooses = |code: &mut CodeAssembler| {
        code.mov(eax, dword_ptr(0x40_4000)).unwrap();
        code.mov(dword_ptr(0x40_4004 + rax * 4), 1).unwrap();
        code.ret().unwrap();
    };
    assert_eq!(changed(chooses), None);
}

//! The instructions of a line that write to memory.

use crate::symbols::Image;
use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};
use std::ops::Range;

/// `push rbp; mov rbp, rsp`, without and with the mark of an indirectly called function before it.
const FRAME: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
const MARK: usize = 4;

/// The first instruction in a range of addresses that writes to memory outside of the function's stack
/// frame. Local variables are no part of a state that several threads see; one whose address is known
/// elsewhere is written through a pointer, or is not found.
pub(super) fn first(image: &Image, range: Range<u64>) -> Option<u64> {
    instruction(image, range).map(|one| one.ip())
}

/// Whether the first write in a range comes behind something else: other instructions, or its own read.
pub(super) fn is_behind(image: &Image, range: Range<u64>) -> bool {
    let start = range.start;
    let Some(one) = instruction(image, range) else { return false };
    let mut factory = InstructionInfoFactory::new();
    let is_split = factory
        .info(&one)
        .used_memory()
        .iter()
        .any(|memory| matches!(memory.access(), OpAccess::ReadWrite | OpAccess::ReadCondWrite));
    one.ip() != start || is_split && !one.has_lock_prefix()
}

fn instruction(image: &Image, range: Range<u64>) -> Option<Instruction> {
    let bytes = image.bytes_at(range.start)?;
    let len = usize::try_from(range.end - range.start).ok()?.min(bytes.len());
    let function = image.function_range(range.start)?.start;
    let start = image.bytes_at(function)?;
    let has_frame =
        start.starts_with(&FRAME) || start.get(MARK..).is_some_and(|it| it.starts_with(&FRAME));
    let mut decoder = Decoder::with_ip(64, &bytes[..len], range.start, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    decoder.iter().find(|one| writes(one, has_frame, &mut factory))
}

fn writes(one: &Instruction, has_frame: bool, factory: &mut InstructionInfoFactory) -> bool {
    // These name memory and write none, or write a return address.
    if matches!(one.mnemonic(), Mnemonic::Nop | Mnemonic::Lea | Mnemonic::Call | Mnemonic::Push) {
        return false;
    }
    factory.info(one).used_memory().iter().any(|memory| {
        let is_write = matches!(
            memory.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        let is_frame =
            memory.base() == Register::RSP || has_frame && memory.base() == Register::RBP;
        is_write && !is_frame
    })
}

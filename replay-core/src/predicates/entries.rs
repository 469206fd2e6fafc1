//! Where the code of a line is entered: compilers copy the beginning of a line to the end of each way that leads
//! to it.

use crate::symbols::Image;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use std::collections::HashSet;
use std::ops::Range;

/// The most bytes of a function whose ways are followed.
const MOST: u64 = 1 << 20;

/// The addresses in `code`, ranges within a function, that are the first ones there on some way from the
/// function's entry; only the lowest address of `code` if no known way leads to that.
pub(super) fn entries(image: &Image, code: &[Range<u64>]) -> Vec<u64> {
    let Some(lowest) = code.iter().map(|range| range.start).min() else { return Vec::new() };
    let found =
        image.function_range(lowest).filter(|function| function.end - function.start < MOST);
    let found = found.and_then(|function| {
        let bytes = image.bytes_at(function.start)?;
        let bytes = bytes.get(..(function.end - function.start) as usize)?;
        Some(first_on_each_way(bytes, function.start, code))
    });
    found.filter(|found| found.contains(&lowest)).unwrap_or_else(|| vec![lowest])
}

/// The same for a function with these bytes, ascending.
fn first_on_each_way(bytes: &[u8], start: u64, code: &[Range<u64>]) -> Vec<u64> {
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let all: Vec<Instruction> = decoder.iter().collect();
    let (mut ahead, mut seen, mut found) = (vec![start], HashSet::new(), Vec::new());
    while let Some(address) = ahead.pop() {
        let Ok(at) = all.binary_search_by_key(&address, Instruction::ip) else { continue };
        if !seen.insert(address) {
            continue;
        }
        if code.iter().any(|range| range.contains(&address)) {
            found.push(address);
            continue;
        }
        let one = &all[at];
        match one.flow_control() {
            FlowControl::ConditionalBranch => {
                ahead.extend([one.near_branch_target(), one.next_ip()]);
            }
            FlowControl::UnconditionalBranch => ahead.push(one.near_branch_target()),
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => {
                ahead.push(one.next_ip());
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cmp eax, 2; je 10; nop; nop; inc ebx; ret; ...; call; inc ebx; jmp 6`
    const CODE: [u8; 22] = [
        0x83, 0xf8, 0x02, // 0: cmp eax, 2
        0x74, 0x07, // 3: je 12
        0x90, // 5: nop
        0xff, 0xc3, // 6: inc ebx
        0x90, // 8: nop
        0xff, 0xc3, // 9: inc ebx
        0xc3, // 11: ret
        0xff, 0xd0, // 12: call rax
        0xff, 0xc3, // 14: inc ebx
        0xeb, 0xf6, // 16: jmp 8
        0xff, 0xc3, // 18: inc ebx
        0x90, 0xc3, // 20: nop; ret
    ];

    fn of(code: &[Range<u64>]) -> Vec<u64> {
        first_on_each_way(&CODE, 0, code)
    }

    #[test]
    fn a_line_is_entered_at_each_copy_of_its_beginning() {
        assert_eq!(of(&[6..8, 14..16]), [6, 14]);
        assert_eq!(of(&[8..9, 9..11]), [8]);
    }

    #[test]
    fn code_of_the_line_behind_other_code_of_it_is_no_entry() {
        assert_eq!(of(&[6..8, 9..11, 14..16]), [6, 14]);
        assert_eq!(of(&[0..3, 14..16]), [0]);
        // Nothing leads there.
        assert_eq!(of(&[18..20, 20..21]), []);
    }
}

//! Conditions of breakpoints: the agent expressions of the gdb protocol (gdb manual, "The GDB Agent
//! Expression Mechanism"). Both the debug server and the target evaluate them; in the target this
//! happens in a signal handler, so nothing here allocates.

/// The most operations that an evaluation executes.
const MOST: usize = 100_000;
/// The most values on the stack.
const DEEP: usize = 64;

/// The stack of values.
struct Stack {
    values: [u64; DEEP],
    len: usize,
}

impl Stack {
    fn push(&mut self, value: u64) -> Option<()> {
        *self.values.get_mut(self.len)? = value;
        self.len += 1;
        Some(())
    }

    fn pop(&mut self) -> Option<u64> {
        self.len = self.len.checked_sub(1)?;
        Some(self.values[self.len])
    }

    /// The value at this depth below the top.
    fn below(&self, deep: usize) -> Option<u64> {
        Some(self.values[self.len.checked_sub(deep + 1)?])
    }
}

/// The value of an expression; none if the evaluation fails.
///
/// `register` returns a register by gdb's number; `read` fills a buffer from memory, or returns
/// false.
pub fn evaluate(
    code: &[u8],
    register: &dyn Fn(usize) -> Option<u64>,
    read: &dyn Fn(u64, &mut [u8]) -> bool,
) -> Option<u64> {
    let mut at = 0;
    let mut stack = Stack { values: [0; DEEP], len: 0 };
    for _ in 0..MOST {
        let operation = *code.get(at)?;
        at += 1;
        let mut operand = |len: usize| {
            let bytes = code.get(at..at + len)?;
            at += len;
            Some(bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte)))
        };
        match operation {
            0x02..=0x0b | 0x0f..=0x11 | 0x13..=0x15 => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                stack.push(binary(operation, a, b)?)?;
            }
            0x0e => {
                let a = stack.pop()?;
                stack.push(u64::from(a == 0))?;
            }
            0x12 => {
                let a = stack.pop()?;
                stack.push(!a)?;
            }
            0x16 => {
                let unused = 64u32.checked_sub(operand(1)? as u32).filter(|bits| *bits < 64)?;
                let a = stack.pop()?;
                stack.push(((a << unused) as i64 >> unused) as u64)?;
            }
            0x2a => {
                let unused = 64u32.checked_sub(operand(1)? as u32).filter(|bits| *bits < 64)?;
                let a = stack.pop()?;
                stack.push(a << unused >> unused)?;
            }
            0x17..=0x1a => {
                let len = 1usize << (operation - 0x17);
                let mut bytes = [0; 8];
                if !read(stack.pop()?, &mut bytes[..len]) {
                    return None;
                }
                stack.push(u64::from_le_bytes(bytes))?;
            }
            0x20 => {
                let to = operand(2)? as usize;
                if stack.pop()? != 0 {
                    at = to;
                }
            }
            0x21 => at = operand(2)? as usize,
            0x22 => stack.push(operand(1)?)?,
            0x23 => stack.push(operand(2)?)?,
            0x24 => stack.push(operand(4)?)?,
            0x25 => stack.push(operand(8)?)?,
            0x26 => {
                let number = operand(2)? as usize;
                stack.push(register(number)?)?;
            }
            0x27 => return stack.pop(),
            0x28 => stack.push(stack.below(0)?)?,
            0x29 => drop(stack.pop()?),
            0x2b => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                stack.push(b)?;
                stack.push(a)?;
            }
            0x32 => {
                let deep = operand(1)? as usize;
                stack.push(stack.below(deep)?)?;
            }
            0x33 => {
                let (c, b, a) = (stack.pop()?, stack.pop()?, stack.pop()?);
                for value in [c, a, b] {
                    stack.push(value)?;
                }
            }
            _ => return None,
        }
    }
    None
}

fn binary(operation: u8, a: u64, b: u64) -> Option<u64> {
    let shift = u32::try_from(b).ok();
    Some(match operation {
        0x02 => a.wrapping_add(b),
        0x03 => a.wrapping_sub(b),
        0x04 => a.wrapping_mul(b),
        0x05 => (a as i64).checked_div(b as i64)? as u64,
        0x06 => a.checked_div(b)?,
        0x07 => (a as i64).checked_rem(b as i64)? as u64,
        0x08 => a.checked_rem(b)?,
        0x09 => shift.and_then(|by| a.checked_shl(by)).unwrap_or(0),
        0x0a => (a as i64 >> b.min(63)) as u64,
        0x0b => shift.and_then(|by| a.checked_shr(by)).unwrap_or(0),
        0x0f => a & b,
        0x10 => a | b,
        0x11 => a ^ b,
        0x13 => u64::from(a == b),
        0x14 => u64::from((a as i64) < (b as i64)),
        0x15 => u64::from(a < b),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(code: &[u8]) -> Option<u64> {
        let memory = [5u8, 0, 0, 0, 255, 255, 255, 255];
        let read = |address: u64, bytes: &mut [u8]| {
            let from = address.checked_sub(0x1000).and_then(|at| usize::try_from(at).ok());
            let there = from.and_then(|from| memory.get(from..from.checked_add(bytes.len())?));
            there.map(|there| bytes.copy_from_slice(there)).is_some()
        };
        evaluate(code, &|number| (number == 1).then_some(7), &read)
    }

    #[test]
    fn expressions_have_the_values_of_the_manual() {
        for (code, expected) in [
            (vec![0x22, 3, 0x22, 4, 0x02, 0x27], Some(7)),
            // The 32 bits at 0x1004, as a signed number, less than 0.
            (vec![0x23, 0x10, 4, 0x19, 0x16, 32, 0x22, 0, 0x14, 0x27], Some(1)),
            (vec![0x26, 0, 1, 0x22, 7, 0x13, 0x27], Some(1)),
            // Each round pushes one more value than the stack holds.
            (vec![0x22, 1, 0x21, 0, 0], None),
            // A jump over a constant.
            (vec![0x22, 1, 0x20, 0, 7, 0x22, 9, 0x22, 8, 0x27], Some(8)),
            (vec![0x22, 1, 0x22, 0, 0x05, 0x27], None),
            (vec![0x23, 0x20, 0, 0x19, 0x27], None),
            (vec![0x21, 0, 0], None),
            (vec![], None),
        ] {
            assert_eq!(value(&code), expected, "{code:x?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_good_input(code: Vec<u8>) {
            value(&code);
        }
    }
}

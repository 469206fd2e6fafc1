//! Columns of numbers: each has the width of its largest number, or variable-length numbers where
//! that is smaller.
//!
//! Widths are powers of two, so that no number straddles a byte boundary, and a loop in the program
//! gives a repetition of bytes, which the compression finds.

use super::error::FileError;

/// The widths of a column in bits; 0 stands for variable-length numbers.
const WIDTHS: [u8; 6] = [1, 2, 4, 8, 16, 32];

/// Appends a number in groups of 7 bits, lowest first.
pub(super) fn write_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number of bytes that [`write_number`] appends.
fn number_len(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends a column. Its length is not stored: the reader has to know it.
pub(super) fn write_column(out: &mut Vec<u8>, numbers: &[u64]) {
    let largest = numbers.iter().copied().max().unwrap_or(0);
    let varying: usize = numbers.iter().map(|&number| number_len(number)).sum();
    let width = WIDTHS
        .into_iter()
        .find(|&width| largest >> width == 0)
        .filter(|&width| packed_len(numbers.len(), width) <= varying)
        .unwrap_or(0);
    out.push(width);
    match width {
        0 => {
            write_number(out, varying as u64);
            numbers.iter().for_each(|&number| write_number(out, number));
        }
        1..8 => {
            for chunk in numbers.chunks(usize::from(8 / width)) {
                out.push(chunk.iter().rev().fold(0, |byte, &number| byte << width | number as u8));
            }
        }
        _ => numbers.iter().for_each(|number| {
            out.extend(&number.to_le_bytes()[..usize::from(width / 8)]);
        }),
    }
}

fn packed_len(count: usize, width: u8) -> usize {
    (count * usize::from(width)).div_ceil(8)
}

/// Reads numbers and columns from the front of a byte slice.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn number(&mut self) -> Result<u64, FileError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or_else(short)?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(malformed("a number has more than 64 bits"))
    }

    /// Reads a count, which must be at most `limit`.
    pub(super) fn count(&mut self, limit: usize, what: &str) -> Result<usize, FileError> {
        let count = self.number()?;
        usize::try_from(count)
            .ok()
            .filter(|&count| count <= limit)
            .ok_or_else(|| FileError::TooLarge(format!("{count} {what}, at most {limit}")))
    }

    /// Reads a column of `count` numbers. The bytes for all of them exist, so the caller may
    /// allocate memory for them.
    pub(super) fn column(&mut self, count: usize) -> Result<Column<'a>, FileError> {
        let (&width, rest) = self.0.split_first().ok_or_else(short)?;
        self.0 = rest;
        let len = match width {
            0 => usize::try_from(self.number()?).ok().filter(|&len| len >= count),
            width if WIDTHS.contains(&width) => Some(packed_len(count, width)),
            _ => return Err(malformed("no such width of a column")),
        };
        let (bytes, rest) = len.and_then(|len| self.0.split_at_checked(len)).ok_or_else(short)?;
        self.0 = rest;
        Ok(Column { width, at: 0, left: count, bytes })
    }

    /// Checks that no bytes remain.
    pub(super) fn end(&self) -> Result<(), FileError> {
        if self.0.is_empty() { Ok(()) } else { Err(malformed("bytes are left over")) }
    }
}

/// An iterator over the numbers of a column.
pub(super) struct Column<'a> {
    width: u8,
    at: usize,
    left: usize,
    bytes: &'a [u8],
}

impl Column<'_> {
    /// The next number.
    #[inline]
    pub(super) fn next(&mut self) -> Result<u64, FileError> {
        self.left = self.left.checked_sub(1).ok_or_else(short)?;
        let index = self.at;
        self.at += 1;
        match self.width {
            0 => {
                let mut input = Input(self.bytes);
                let number = input.number()?;
                self.bytes = input.0;
                if self.left == 0 {
                    input.end()?;
                }
                Ok(number)
            }
            width @ 1..8 => {
                let bit = index * usize::from(width);
                let byte = *self.bytes.get(bit / 8).ok_or_else(short)?;
                Ok(u64::from(byte >> (bit % 8)) & ((1 << width) - 1))
            }
            width => {
                let len = usize::from(width / 8);
                let bytes = self.bytes.get(index * len..(index + 1) * len).ok_or_else(short)?;
                Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
            }
        }
    }
}

fn malformed(what: &str) -> FileError {
    FileError::Malformed(format!("steps: {what}"))
}

#[cold]
fn short() -> FileError {
    malformed("a column is too short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_at_every_width() {
        let mut cases: Vec<Vec<u64>> = vec![vec![], vec![0], vec![u64::MAX], vec![3; 1000]];
        for bits in 0..64 {
            cases.push((0..50).map(|i| (1u64 << bits).wrapping_sub(i & 1)).collect());
            // A column with one large number among small ones is smaller with variable lengths.
            cases.push((0..50).map(|i| if i == 20 { 1 << bits } else { i & 1 }).collect());
        }
        for numbers in cases {
            let mut bytes = Vec::new();
            write_column(&mut bytes, &numbers);
            let mut input = Input(&bytes);
            let mut column = input.column(numbers.len()).unwrap();
            let read: Vec<u64> = numbers.iter().map(|_| column.next().unwrap()).collect();
            assert_eq!(read, numbers);
            assert!(column.next().is_err());
            input.end().unwrap();
            for cut in 0..bytes.len() {
                assert!(Input(&bytes[..cut]).column(numbers.len()).is_err());
            }
        }
    }

    #[test]
    fn a_number_has_64_bits() {
        let mut most = vec![0xff; 9];
        most.push(1);
        assert_eq!(Input(&most).number(), Ok(u64::MAX));
        *most.last_mut().unwrap() = 2;
        assert!(Input(&most).number().is_err());
        assert!(Input(&[0x80; 20]).number().is_err());
    }
}

//! The framing of the gdb protocol: `$payload#checksum`, acknowledgements, escapes, hexadecimal.
//! Pure; any bytes are valid input.
//!
//! gdbstub frames packets too, but it ends the session if a packet is damaged or requested again.

/// The largest packet in both directions.
pub(crate) const MOST: usize = 0x20000;

/// The most text for the user in one packet: debuggers limit the size of packets.
pub(crate) const PRINTED: usize = 4096;

/// An item that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// The payload of a packet, not unescaped.
    Packet(Vec<u8>),
    /// A packet with a wrong checksum, to be requested again.
    Damaged,
    /// A request to send the last packet again.
    Again,
    /// Ctrl-C.
    Interrupt,
}

/// Divides a stream of bytes into packets.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    state: State,
    body: Vec<u8>,
    /// Whether the body exceeded its limit: the packet counts as damaged.
    cut: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Between,
    Body,
    Checksum(Option<u8>),
}

impl Reader {
    /// Takes the next byte and returns a complete item, if there is one.
    pub(crate) fn take(&mut self, byte: u8) -> Option<Incoming> {
        match self.state {
            State::Between => match byte {
                b'$' => {
                    self.body.clear();
                    self.cut = false;
                    self.state = State::Body;
                    None
                }
                b'-' => Some(Incoming::Again),
                3 => Some(Incoming::Interrupt),
                // `+`, and anything else between packets.
                _ => None,
            },
            State::Body => {
                match byte {
                    b'#' => self.state = State::Checksum(None),
                    _ if self.body.len() >= MOST => self.cut = true,
                    _ => self.body.push(byte),
                }
                None
            }
            State::Checksum(None) => {
                self.state = State::Checksum(Some(byte));
                None
            }
            State::Checksum(Some(high)) => {
                self.state = State::Between;
                let said = nibble(high).zip(nibble(byte)).map(|(high, low)| high << 4 | low);
                if self.cut || said != Some(checksum(&self.body)) {
                    return Some(Incoming::Damaged);
                }
                Some(Incoming::Packet(std::mem::take(&mut self.body)))
            }
        }
    }
}

fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// Reverses [`escape`].
pub(crate) fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut bytes = bytes.iter();
    while let Some(&byte) = bytes.next() {
        out.push(if byte == b'}' { bytes.next().copied().unwrap_or(0) ^ 0x20 } else { byte });
    }
    out
}

/// Escapes bytes that have a meaning in the framing.
pub(crate) fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if matches!(byte, b'#' | b'$' | b'}' | b'*') {
            out.extend([b'}', byte ^ 0x20]);
        } else {
            out.push(byte);
        }
    }
    out
}

/// Frames a payload, which must be escaped already.
pub(crate) fn frame(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 4);
    out.push(b'$');
    out.extend(payload);
    out.extend(format!("#{:02x}", checksum(payload)).bytes());
    out
}

fn nibble(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Hexadecimal digits as bytes.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect()
}

/// A number in hexadecimal digits.
pub(crate) fn number(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

/// Two numbers with a comma between them.
pub(crate) fn pair(text: &str) -> Option<(u64, u64)> {
    let (first, second) = text.split_once(',')?;
    Some((number(first)?, number(second)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> Vec<Incoming> {
        let mut reader = Reader::default();
        bytes.iter().filter_map(|&byte| reader.take(byte)).collect()
    }

    #[test]
    fn packets_come_one_after_the_other_with_noise_between() {
        let bytes = [b"+x".as_slice(), &frame(b"g"), b"\x03-", &frame(b"OK"), b"$g#00"].concat();
        let packet = |text: &[u8]| Incoming::Packet(text.to_vec());
        let expected =
            [packet(b"g"), Incoming::Interrupt, Incoming::Again, packet(b"OK"), Incoming::Damaged];
        assert_eq!(all(&bytes), expected);
    }

    proptest! {
        #[test]
        fn a_framed_payload_is_read_back(payload: Vec<u8>) {
            let escaped = escape(&payload);
            prop_assert_eq!(all(&frame(&escaped)), [Incoming::Packet(escaped.clone())]);
            prop_assert_eq!(unescape(&escaped), payload);
        }

        #[test]
        fn any_bytes_are_valid_input(bytes: Vec<u8>) {
            all(&bytes);
        }

        #[test]
        fn hexadecimal_goes_there_and_back(bytes: Vec<u8>) {
            prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        }
    }
}

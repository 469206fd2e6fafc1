//! The gdb protocol: any bytes are divided into packets, and a payload survives escaping and framing.

#[allow(dead_code, reason = "the debug server uses the rest")]
#[path = "../../replay-core/src/debug/protocol/packet.rs"]
mod packet;

use packet::{Incoming, Reader, escape, frame, hex, number, pair, unescape, unhex};

/// Reads `input` as a stream of packets, and as one payload.
///
/// # Panics
/// If a packet is too large, or a payload is changed by escaping or framing.
pub fn run(input: &[u8]) {
    let mut reader = Reader::default();
    for incoming in input.iter().filter_map(|&byte| reader.take(byte)) {
        let Incoming::Packet(payload) = incoming else { continue };
        assert!(payload.len() <= packet::MOST, "{} bytes", payload.len());
        let text = String::from_utf8_lossy(&payload);
        let _ = (unescape(&payload), unhex(&text), number(&text), pair(&text));
    }
    if input.len() > packet::MOST / 2 {
        return;
    }
    let framed = frame(&escape(input));
    let mut reader = Reader::default();
    let all: Vec<Incoming> = framed.iter().filter_map(|&byte| reader.take(byte)).collect();
    let [Incoming::Packet(payload)] = &all[..] else { panic!("one packet: {all:?}") };
    assert_eq!(unescape(payload), input);
    assert_eq!(unhex(&hex(input)).as_deref(), Some(input));
}

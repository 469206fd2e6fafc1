//! Corrupt files and stacks: no result or a wrong one, but never a panic or an endless loop.

use super::Dir;
use crate::symbols::unwind::Code;
use crate::symbols::{Image, Memory, Registers, Symbols};
use traces::{Module, Site};

/// Reproducible noise.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn exercise(path: &std::path::Path) {
    let module = Module { path: path.to_str().unwrap().into(), build_id: String::new() };
    let symbols = Symbols::of_modules(&[module]);
    for offset in (0..0x5000).step_by(61) {
        let site = Site { module: 0, offset };
        assert!(!symbols.frames(site, offset % 2 == 0).is_empty());
        let _ = symbols.variable(site);
        if let Some(image) = Image::open(path) {
            let _ = image.row(offset);
        }
    }
}

#[test]
fn corrupt_files() {
    let dir = Dir::new();
    let text = r#"
#include <map>
#include <string>
std::map<std::string, int> all;
int main(int argc, char **argv) { try { return all.at(argv[0]); } catch (...) { return argc; } }
"#;
    let program = dir.compile("victim.cc", text, &["-O1", "-g"]);
    let good = std::fs::read(&program).unwrap();
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let bad = dir.path("bad");
    for round in 0..60u64 {
        let mut bytes = good.clone();
        for _ in 0..1 + round * round / 2 {
            // Every third round leaves the headers intact, so that the tables are reached.
            let from = if round % 3 == 0 { 0 } else { 0x1000 };
            let at = from + noise.next() as usize % (bytes.len() - from);
            bytes[at] = noise.next() as u8;
        }
        if round % 7 == 6 {
            bytes.truncate(noise.next() as usize % good.len());
        }
        let _ = std::fs::remove_file(&bad);
        std::fs::write(&bad, bytes).unwrap();
        exercise(&bad);
    }
    for bytes in [&b""[..], b"\x7fELF", &good[..64], &[0; 4096]] {
        std::fs::write(&bad, bytes).unwrap();
        exercise(&bad);
    }
}

/// Words that point to each other.
struct Wild(u64);

impl Memory for Wild {
    fn read(&self, address: u64, buf: &mut [u8]) -> usize {
        for (step, byte) in (0..).zip(buf.iter_mut()) {
            let at = address.wrapping_add(step);
            *byte = (at.wrapping_mul(self.0) >> 24) as u8;
        }
        buf.len()
    }
}

struct Nothing;

impl Memory for Nothing {
    fn read(&self, _: u64, _: &mut [u8]) -> usize {
        0
    }
}

/// All frames are equal, and each is its own caller.
struct Loop;

impl Memory for Loop {
    fn read(&self, address: u64, buf: &mut [u8]) -> usize {
        let code = corrupt_stacks as *const () as u64;
        for (step, byte) in (0..).zip(buf.iter_mut()) {
            let at = address.wrapping_add(step);
            let word = if at / 8 % 2 == 0 { 0x7000_0000 } else { code };
            *byte = word.to_le_bytes()[(at % 8) as usize];
        }
        buf.len()
    }
}

#[test]
fn corrupt_stacks() {
    let symbols = Symbols::of_process(i32::try_from(std::process::id()).unwrap()).unwrap();
    let code = corrupt_stacks as *const () as u64;
    assert!(symbols.is_code(code) && symbols.row(code).is_some());
    let mut noise = Noise(0x1234_5678_9abc_def1);
    for round in 0..2000u64 {
        let mut registers = Registers::default();
        for register in 0..17 {
            registers.set(register, (noise.next() & 7 > 0).then(|| noise.next() >> (round % 50)));
        }
        if round % 2 == 0 {
            registers.set(16, Some(code + noise.next() % 4096));
        }
        if round % 16 == 0 {
            registers.set(7, Some(u64::MAX - noise.next() % 32));
        }
        let memories: [&dyn Memory; 3] = [&Wild(noise.next()), &Nothing, &Loop];
        for memory in memories {
            for exact in [false, true] {
                let frames = symbols.unwind(&registers, exact, memory, "");
                assert!(frames.len() <= crate::symbols::MAX_FRAMES);
            }
        }
    }
    assert!(symbols.unwind(&Registers::default(), true, &Nothing, "").is_empty());
}

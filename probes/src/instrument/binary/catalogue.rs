//! What calls of C library functions do to memory and to state that tasks share, by `libc.txt`.
//!
//! The library itself runs at full speed: a call is an access to everything that its line names. State
//! of the library or of the kernel has no address that a program could access itself; each piece of it
//! is represented by a word of the runtime, so that everything that follows from accesses (conflicts,
//! scheduling points, dependences) follows for it as well.

use crate::instrument::binary::operand::{Measure, NONE, Operand};
use std::collections::HashMap;

static TABLE: &str = include_str!("libc.txt");

/// The registers of integer arguments in the System V ABI, numbered as in instruction encodings.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// How many pieces of hidden state the table may name.
const STATES: usize = 64;
/// Descriptors from here on share one word.
pub(super) const DESCRIPTORS: usize = 1024;

/// The words that represent hidden state and open files. Nothing is ever written to them.
static STATE_WORDS: [u64; STATES] = [0; STATES];
static DESCRIPTOR_WORDS: [u64; DESCRIPTORS] = [0; DESCRIPTORS];

/// The word that represents the open file of a descriptor.
pub(super) fn descriptor_word(descriptor: u64) -> u64 {
    let index = (descriptor as u32 as usize).min(DESCRIPTORS - 1);
    &raw const DESCRIPTOR_WORDS[index] as u64
}

/// What one function does.
#[derive(Debug, Clone, Default)]
pub(super) struct Effects {
    /// Reads before writes, as the functions do.
    pub(super) operands: Vec<Operand>,
    /// Whether it has effects that the table does not describe.
    pub(super) partial: bool,
}

/// The parsed table.
#[derive(Debug)]
pub(super) struct Catalogue {
    functions: HashMap<&'static str, &'static str>,
    states: Vec<&'static str>,
}

impl Catalogue {
    pub(super) fn new() -> Catalogue {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let functions: HashMap<_, _> = lines
            .filter_map(|line| line.split_once(' '))
            .map(|(name, effects)| (name, effects.trim()))
            .collect();
        let mut states: Vec<&str> = TABLE
            .split_ascii_whitespace()
            .filter_map(|word| word.strip_prefix("state:")?.rsplit_once(':'))
            .map(|(name, _)| name)
            .collect();
        states.sort_unstable();
        states.dedup();
        Catalogue { functions, states }
    }

    /// Whether the table has a function.
    pub(super) fn has(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// What a function does; none if the table does not have it.
    pub(super) fn effects(&self, name: &str) -> Option<Effects> {
        let mut effects = Effects::default();
        for effect in self.functions.get(name)?.split_ascii_whitespace() {
            match effect.split_once(':') {
                None => effects.partial |= effect == "partial",
                Some((access, of)) => effects.operands.push(self.operand(access, of)?),
            }
        }
        effects.operands.sort_by_key(|operand| operand.writes);
        Some(effects)
    }

    fn operand(&self, access: &str, of: &str) -> Option<Operand> {
        let (kind, of) = match access {
            "state" | "fd" => {
                let (of, kind) = of.rsplit_once(':')?;
                (kind, of)
            }
            access => (access, of),
        };
        let mut operand = Operand {
            base: NONE,
            index: NONE,
            scale: 1,
            thread_local: false,
            pointed: false,
            displacement: 0,
            size: 8,
            measure: Measure::Element,
            reads: kind.contains('r'),
            writes: kind.contains('w'),
        };
        match access {
            "state" => {
                if of == "tm" {
                    (operand.displacement, operand.size) = broken_down_time();
                } else {
                    let index = self.states.binary_search(&of).ok()?.min(STATES - 1);
                    operand.displacement = &raw const STATE_WORDS[index] as u64;
                }
            }
            "fd" => operand.measure = Measure::Descriptor(argument(of)?),
            _ => {
                let (base, length) = of.strip_suffix(']')?.split_once('[')?;
                operand.pointed = base.starts_with('*');
                operand.base = argument(base.trim_start_matches('*'))?;
                operand.size = 1;
                operand.measure = measure(operand.base, length)?;
                if let Some((_, size)) = length.split_once('#') {
                    operand.size = size.parse().ok()?;
                }
            }
        }
        Some(operand)
    }
}

/// The structure that `gmtime` and `localtime` return, which programs read themselves.
fn broken_down_time() -> (u64, u64) {
    // SAFETY: `gmtime` reads the local variable, and returns the address of a static structure.
    let time = unsafe { libc::gmtime(&raw const EPOCH) };
    (time as u64, size_of::<libc::tm>() as u64)
}

static EPOCH: libc::time_t = 0;

fn argument(number: &str) -> Option<u8> {
    ARGUMENTS.get(number.parse::<usize>().ok()?).copied()
}

fn measure(base: u8, length: &str) -> Option<Measure> {
    if let Some((count, _)) = length.split_once('#') {
        return match count.strip_suffix('*') {
            Some(count) => argument(count).map(Measure::Elements),
            None => Some(Measure::Element),
        };
    }
    if let Some(rest) = length.strip_prefix('s') {
        return Some(match rest.strip_prefix('@') {
            // As long as the string that another argument points to.
            Some(other) => Measure::String(argument(other)?),
            None if rest.is_empty() => Measure::String(base),
            None => Measure::BoundedString(base, argument(rest)?),
        });
    }
    if let Some(rest) = length.strip_prefix('w') {
        return Some(match rest.strip_prefix('@') {
            Some(other) => Measure::WideString(argument(other)?),
            None if rest.is_empty() => Measure::WideString(base),
            None => Measure::BoundedWideString(base, argument(rest)?),
        });
    }
    if let Some(pointer) = length.strip_prefix('*') {
        return argument(pointer).map(Measure::Pointed);
    }
    Some(match length.split_once('*') {
        Some((one, other)) => Measure::Product(argument(one)?, argument(other)?),
        None => Measure::Register(argument(length)?),
    })
}

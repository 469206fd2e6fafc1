//! Where bytes are: in memory or in registers.

use iced_x86::Register;

/// Where some bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    Memory {
        address: u64,
        len: u64,
    },
    /// Bytes of a register, which is named by its full width.
    Register {
        register: Register,
        offset: u64,
        len: u64,
    },
}

/// The registers of a task before or after an instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The general registers, in the order of their numbers in instruction encodings.
    pub(crate) general: [u64; 16],
    pub(crate) fs: u64,
    pub(crate) gs: u64,
    pub(crate) flags: u64,
    pub(crate) rip: u64,
}

impl Location {
    /// A part of this location.
    pub(super) fn part(self, from: u64, size: u64) -> Location {
        match self {
            Location::Memory { address, .. } => {
                Location::Memory { address: address.wrapping_add(from), len: size }
            }
            Location::Register { register, offset, .. } => {
                Location::Register { register, offset: offset + from, len: size }
            }
        }
    }

    /// Bytes of a general register by its number of DWARF.
    pub(crate) fn of_register(number: u16, offset: u64, len: u64) -> Option<Location> {
        use Register as R;
        const NUMBERED: [Register; 16] = [
            R::RAX,
            R::RDX,
            R::RCX,
            R::RBX,
            R::RSI,
            R::RDI,
            R::RBP,
            R::RSP,
            R::R8,
            R::R9,
            R::R10,
            R::R11,
            R::R12,
            R::R13,
            R::R14,
            R::R15,
        ];
        let register = match number {
            0..=15 => NUMBERED[usize::from(number)],
            // The vector registers.
            17..=32 => Register::ZMM0 + u32::from(number - 17),
            _ => return None,
        };
        Some(Location::Register { register, offset, len })
    }

    /// A general register by its name, with or without `$`: `rdi`, `eax`.
    ///
    /// # Errors
    /// If there is no such register.
    pub(crate) fn of_register_name(name: &str) -> Result<Location, String> {
        let wanted = name.to_uppercase();
        let known = Register::values().filter(|register| register.is_gpr());
        let found = known.into_iter().find(|register| format!("{register:?}") == wanted);
        found.map(register).ok_or_else(|| {
            format!("`{name}` is no general register, and other registers are not followed")
        })
    }

    pub(crate) fn len(self) -> u64 {
        match self {
            Location::Memory { len, .. } | Location::Register { len, .. } => len,
        }
    }

    /// Where the other location begins within this one, if both are in the same space.
    pub(super) fn distance(self, other: Location) -> Option<i128> {
        match (self, other) {
            (Location::Memory { address, .. }, Location::Memory { address: at, .. }) => {
                Some(i128::from(at) - i128::from(address))
            }
            (
                Location::Register { register, offset, .. },
                Location::Register { register: other, offset: at, .. },
            ) if register == other => Some(i128::from(at) - i128::from(offset)),
            _ => None,
        }
    }

    /// Where another location begins in this one, if all of it is in here.
    pub(super) fn offset_of(self, other: Location) -> Option<u64> {
        let distance = self.distance(other)?;
        let fits = distance >= 0 && distance + i128::from(other.len()) <= i128::from(self.len());
        fits.then_some(distance as u64)
    }

    /// Whether the locations have a byte in common.
    pub(crate) fn overlaps(self, other: Location) -> bool {
        self.distance(other).is_some_and(|distance| {
            distance < i128::from(self.len()) && -distance < i128::from(other.len())
        })
    }
}

impl State {
    /// Whether the task is at the same instruction in the same call: the registers that functions preserve are the
    /// same. (A system call changes others, depending on how it was executed.)
    pub(crate) fn is_at(&self, other: &State) -> bool {
        const PRESERVED: [usize; 7] = [3, 4, 5, 12, 13, 14, 15];
        let is_same = |&number: &usize| self.general[number] == other.general[number];
        self.rip == other.rip && PRESERVED.iter().all(is_same)
    }

    pub(crate) fn value(&self, register: Register) -> u64 {
        match register {
            Register::FS => self.fs,
            Register::GS => self.gs,
            register if register.is_gpr() => {
                let full = self.general[register.full_register().number() & 15];
                match (register.size(), high_byte(register)) {
                    (1, true) => full >> 8 & 0xff,
                    (8, _) => full,
                    (size, _) => full & ((1 << (8 * size)) - 1),
                }
            }
            // The flat segments.
            _ => 0,
        }
    }
}

/// Whether a register is the second byte of another.
fn high_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

/// The bytes of a register.
pub(super) fn register(register: Register) -> Location {
    let offset = u64::from(high_byte(register));
    Location::Register { register: register.full_register(), offset, len: register.size() as u64 }
}

//! Functions that do the same each time: a handler that counts, or sets a flag.
//!
//! Such a function has no branch, call or system call, accesses only its own frame and variables at fixed
//! addresses, and cannot fault. So however often it runs, it changes those variables and nothing else.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register, UsedMemory,
};
use std::ops::ControlFlow;

/// The longest such function, in instructions.
const LONGEST: usize = 64;

/// The variables that a function changes: addresses, each with the end behind it.
pub(crate) type Changed = Vec<(u64, u64)>;

/// What was found in the instructions of a function so far.
struct Effect {
    factory: InstructionInfoFactory,
    /// Whether rbp points to the frame.
    has_frame: bool,
    changed: Changed,
}

/// What a function at this address changes, if it has run to its end before, and does the same each time.
/// `code` returns the bytes at an address, at least one.
pub(crate) fn of<'c>(start: u64, code: impl Fn(u64) -> &'c [u8]) -> Option<Changed> {
    let mut effect = Effect {
        factory: InstructionInfoFactory::new(),
        has_frame: false,
        changed: Changed::new(),
    };
    let mut at = start;
    for _ in 0..LONGEST {
        let instruction = decode(at, &code)?;
        if let ControlFlow::Break(is_end) = effect.add(&instruction) {
            return is_end.then_some(effect.changed);
        }
        at = instruction.next_ip();
    }
    None
}

fn decode<'c>(at: u64, code: &impl Fn(u64) -> &'c [u8]) -> Option<Instruction> {
    const MOST_BYTES: usize = 15;
    let mut bytes = [0; MOST_BYTES];
    let mut len = 0;
    // An instruction may end on another page than it begins. That page is not read unless it does.
    while len < MOST_BYTES {
        let more = code(at + len as u64);
        let count = more.len().min(MOST_BYTES - len);
        bytes[len..len + count].copy_from_slice(&more[..count]);
        len += count;
        let one = Decoder::with_ip(64, &bytes[..len], at, DecoderOptions::NONE).decode();
        if !one.is_invalid() {
            return Some(one);
        }
    }
    None
}

impl Effect {
    /// Follows an instruction. Breaks with whether the function ends here as it should.
    fn add(&mut self, one: &Instruction) -> ControlFlow<bool> {
        match one.flow_control() {
            FlowControl::Return => return ControlFlow::Break(true),
            FlowControl::Next => {}
            _ => return ControlFlow::Break(false),
        }
        let info = self.factory.info(one);
        let writes = |register: Register| {
            let is_write = |access| !matches!(access, OpAccess::Read | OpAccess::CondRead);
            info.used_registers()
                .iter()
                .any(|used| used.register().full_register() == register && is_write(used.access()))
        };
        let (writes_stack, writes_frame) = (writes(Register::RSP), writes(Register::RBP));
        let memory: Vec<UsedMemory> = match one.mnemonic() {
            // No access.
            Mnemonic::Lea | Mnemonic::Nop | Mnemonic::Endbr64 => Vec::new(),
            _ => info.used_memory().to_vec(),
        };
        if !is_plain(one) || !memory.iter().all(|used| self.is_known(one, used)) {
            return ControlFlow::Break(false);
        }
        if writes_stack && !moves_stack(one, self.has_frame) {
            return ControlFlow::Break(false);
        }
        if writes_frame {
            self.has_frame = one.mnemonic() == Mnemonic::Mov
                && one.op0_register() == Register::RBP
                && one.op1_register() == Register::RSP;
        }
        ControlFlow::Continue(())
    }

    /// Whether an access is one to the frame or to a fixed address.
    fn is_known(&mut self, one: &Instruction, used: &UsedMemory) -> bool {
        if used.index() != Register::None || matches!(used.segment(), Register::FS | Register::GS) {
            return false;
        }
        match used.base() {
            Register::RSP => true,
            Register::RBP => self.has_frame,
            Register::RIP | Register::None => {
                let address = match one.is_ip_rel_memory_operand() {
                    true => one.ip_rel_memory_address(),
                    false => used.displacement(),
                };
                if !matches!(used.access(), OpAccess::Read | OpAccess::CondRead) {
                    let len = used.memory_size().size().max(1) as u64;
                    self.changed.push((address, address.saturating_add(len)));
                }
                true
            }
            _ => false,
        }
    }
}

/// Whether an instruction computes, and cannot fault.
fn is_plain(one: &Instruction) -> bool {
    !one.is_privileged()
        && !one.has_rep_prefix()
        && !one.has_repne_prefix()
        && !matches!(one.mnemonic(), Mnemonic::Div | Mnemonic::Idiv | Mnemonic::INVALID)
}

/// Whether an instruction that writes rsp leaves it in the frame, or returns it there.
fn moves_stack(one: &Instruction, has_frame: bool) -> bool {
    match one.mnemonic() {
        Mnemonic::Push | Mnemonic::Pop => true,
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::And => {
            one.op0_register() == Register::RSP && one.op1_kind() != OpKind::Register
        }
        Mnemonic::Leave => has_frame,
        _ => false,
    }
}

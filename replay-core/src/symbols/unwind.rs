//! Unwinds the stack of a task from its registers.
//!
//! All call frame information is evaluated: functions whose frame address is in rbx or in a saved
//! slot (`alloca` with realigned stacks) need the callee-saved registers of every frame, not only
//! rbp. So each step recovers all registers that have rules.

use super::cfi::{Cfa, Expression, Row, Rule};
use super::memory::{Memory, Words};
use super::registers::{RBP, RIP, RSP, Registers};
use gimli::{EndianSlice, EvaluationResult, LittleEndian, Value};
use std::sync::Arc;

/// The most frames of a stack.
pub const MAX_FRAMES: usize = 256;
/// The largest frame to assume if there is no unwinding information.
const MAX_FRAME: u64 = 8 << 20;

/// One frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackFrame {
    /// The instruction, or the return address.
    pub address: u64,
    /// Whether `address` is the current instruction and not a return address.
    pub exact: bool,
    /// The stack pointer in the frame.
    pub rsp: u64,
}

/// What the unwinder needs to know about the process's code.
pub(super) trait Code {
    /// The row for an address, if its module has one.
    fn row(&self, address: u64) -> Option<Arc<Row>>;
    /// Whether an address is executable.
    fn is_code(&self, address: u64) -> bool;
}

/// The frames of a stack, innermost first. `exact` says whether rip is the current instruction.
pub(super) fn unwind(
    code: &dyn Code,
    memory: &dyn Memory,
    registers: &Registers,
    exact: bool,
) -> Vec<StackFrame> {
    let mut frames = Vec::new();
    walk(code, memory, registers, exact, &mut |frame, _| {
        frames.push(frame);
        frames.len() < MAX_FRAMES
    });
    frames
}

/// Visits the frames of a stack, innermost first, with the known registers, until `visit` returns
/// false.
pub(super) fn walk(
    code: &dyn Code,
    memory: &dyn Memory,
    registers: &Registers,
    mut exact: bool,
    visit: &mut dyn FnMut(StackFrame, &Registers) -> bool,
) {
    let words = Words::new(memory);
    let mut registers = *registers;
    let mut first = true;
    while let (Some(rip), Some(rsp)) = (registers.rip(), registers.rsp()) {
        // A return address outside of code ends the walk; but a task that jumped to an invalid
        // address is shown there.
        let nowhere = !code.is_code(rip);
        if nowhere && !exact && !first {
            break;
        }
        let row = code.row(if exact { rip } else { rip.wrapping_sub(1) });
        // Names are looked up just before a return address. A signal trampoline was not called, so
        // the address before its first instruction does not belong to it.
        let signal = row.as_ref().is_some_and(|row| row.signal);
        if !visit(StackFrame { address: rip, exact: exact || signal, rsp }, &registers) {
            break;
        }
        first = false;
        let next = match row {
            Some(row) => step(&row, &registers, &words),
            None => (exact && nowhere)
                .then(|| popped(code, &registers, &words))
                .flatten()
                .or_else(|| linked(code, &registers, &words)),
        };
        let Some(next) = next else { break };
        // Stacks grow down, so callers are above; only a signal may have switched stacks. A frame
        // at the same address is a loop.
        if !next.rsp().is_some_and(|to| to > rsp || signal && to != rsp) {
            break;
        }
        registers = next;
        exact = signal;
    }
}

/// The caller's registers by the rules of a row; none at the end of the stack.
fn step(row: &Row, registers: &Registers, words: &Words<'_>) -> Option<Registers> {
    let cfa = match &row.cfa {
        Cfa::Register(register, offset) => registers.get(*register)?.wrapping_add_signed(*offset),
        Cfa::Expression(expression) => evaluate(expression, None, registers, words)?,
    };
    let mut caller = Registers::default();
    for register in (0..RIP).filter(|&register| Registers::is_callee_saved(register)) {
        caller.set(register, registers.get(register));
    }
    caller.set(RSP, Some(cfa));
    for (register, rule) in &row.rules {
        let value = match rule {
            Rule::Undefined => None,
            Rule::Same => registers.get(*register),
            Rule::At(offset) => words.word(cfa.wrapping_add_signed(*offset)),
            Rule::Is(offset) => Some(cfa.wrapping_add_signed(*offset)),
            Rule::Register(other) => registers.get(*other),
            Rule::AtExpression(expression) => evaluate(expression, Some(cfa), registers, words)
                .and_then(|address| words.word(address)),
            Rule::IsExpression(expression) => evaluate(expression, Some(cfa), registers, words),
        };
        caller.set(*register, value);
    }
    // Without a rule for the return address, this is the outermost frame.
    row.rules.iter().find(|(register, _)| *register == row.return_address)?;
    caller.set(RIP, Some(caller.get(row.return_address)?));
    Some(caller)
}

/// The caller by the frame pointer, if the module has no unwinding information.
fn linked(code: &dyn Code, registers: &Registers, words: &Words<'_>) -> Option<Registers> {
    let (rbp, rsp) = (registers.get(RBP)?, registers.rsp()?);
    if rbp % 8 != 0 || rbp < rsp || rbp - rsp > MAX_FRAME {
        return None;
    }
    let to = words.word(rbp.checked_add(8)?).filter(|&to| code.is_code(to))?;
    let mut caller = Registers::default();
    caller.set(RIP, Some(to));
    caller.set(RSP, rbp.checked_add(16));
    caller.set(RBP, words.word(rbp));
    Some(caller)
}

/// The caller of a task that called an address outside of code: the call only pushed its return
/// address.
fn popped(code: &dyn Code, registers: &Registers, words: &Words<'_>) -> Option<Registers> {
    let rsp = registers.rsp()?;
    let to = words.word(rsp).filter(|&to| code.row(to.wrapping_sub(1)).is_some())?;
    code.is_code(to).then_some(())?;
    let mut caller = *registers;
    caller.set(RIP, Some(to));
    caller.set(RSP, rsp.checked_add(8));
    Some(caller)
}

fn evaluate(
    expression: &Expression,
    initial: Option<u64>,
    registers: &Registers,
    words: &Words<'_>,
) -> Option<u64> {
    let bytes = EndianSlice::new(&expression.bytes, LittleEndian);
    let mut evaluation = gimli::Expression(bytes).evaluation(expression.encoding);
    evaluation.set_max_iterations(1000);
    if let Some(initial) = initial {
        evaluation.set_initial_value(initial);
    }
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let value = words.get(address, usize::from(size))?;
                evaluation.resume_with_memory(Value::Generic(value)).ok()?
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = registers.get(register.0)?;
                evaluation.resume_with_register(Value::Generic(value)).ok()?
            }
            // Other requests do not occur in call frame information.
            _ => return None,
        };
    }
    evaluation.value_result()?.to_u64(u64::MAX).ok()
}

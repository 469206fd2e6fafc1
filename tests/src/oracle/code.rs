//! Statements compiled to a flat list of instructions, so that a task's position in its body is one
//! number.

use super::program::{Call, Statement, Test, Value, Variable};

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instruction {
    Assign(Variable, Value),
    /// Jump there unless the test holds.
    Unless(Test, usize),
    Jump(usize),
    Call(Call, Option<u8>),
    /// Where to continue if the task is cancelled from here on.
    Guard(usize),
    /// End of the guarded part.
    Unguard,
    /// The task is cancelled, and its cleanup at this level is complete.
    Unwind,
    Consistent(u8),
    End,
}

/// The instructions of a body; the last is [`Instruction::End`].
pub(super) fn flatten(body: &[Statement]) -> Vec<Instruction> {
    let mut code = Vec::new();
    append(body, &mut code);
    code.push(Instruction::End);
    code
}

fn append(body: &[Statement], code: &mut Vec<Instruction>) {
    for statement in body {
        match statement {
            Statement::Assign(to, value) => code.push(Instruction::Assign(*to, *value)),
            Statement::Call(call, result) => code.push(Instruction::Call(*call, *result)),
            Statement::Consistent(mutex) => code.push(Instruction::Consistent(*mutex)),
            Statement::Guarded(mutex, body) => {
                let top = code.len();
                code.push(Instruction::End);
                append(body, code);
                code.push(Instruction::Unguard);
                code.push(Instruction::Call(Call::Unlock(*mutex), None));
                let over = code.len();
                code.push(Instruction::End);
                code[top] = Instruction::Guard(code.len());
                code.push(Instruction::Call(Call::Unlock(*mutex), None));
                code.push(Instruction::Unwind);
                code[over] = Instruction::Jump(code.len());
            }
            Statement::Repeat(times, body) => {
                for _ in 0..*times {
                    append(body, code);
                }
            }
            Statement::While(test, body) => {
                let top = code.len();
                code.push(Instruction::End);
                append(body, code);
                code.push(Instruction::Jump(top));
                code[top] = Instruction::Unless(*test, code.len());
            }
            Statement::If(test, then, otherwise) => {
                let top = code.len();
                code.push(Instruction::End);
                append(then, code);
                if otherwise.is_empty() {
                    code[top] = Instruction::Unless(*test, code.len());
                    continue;
                }
                let over = code.len();
                code.push(Instruction::End);
                code[top] = Instruction::Unless(*test, code.len());
                append(otherwise, code);
                code[over] = Instruction::Jump(code.len());
            }
        }
    }
}

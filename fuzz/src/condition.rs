//! Conditions of breakpoints, as gdb sends them (agent expressions): any bytecode terminates.

use traces::agent_expression::evaluate;

/// Evaluates `input` with registers and memory whose values depend on their number and address.
pub fn run(input: &[u8]) {
    let register = |number: usize| (number < 24).then(|| number as u64 * 0x0101_0101);
    let read = |address: u64, bytes: &mut [u8]| {
        bytes.fill(address as u8);
        address.is_multiple_of(2)
    };
    let _ = evaluate(input, &register, &read);
}

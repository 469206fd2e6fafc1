//! The tasks as threads: name, pending operation, and registers at their site in the program, even
//! if the runtime has parked them.

use super::machine::{Machine, ProcessState};
use super::registers::{FS_BASE, RBP, RIP, RSP, Values};
use crate::Error;
use crate::symbols::{Memory, Registers, Symbols};
use std::ops::Range;
use traces::wire::{NO_TASK, PROBE_FRAME, TaskInfo, task_state};
use traces::{Execution, Operation};

/// A task that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    /// The task's number, from 0.
    pub(crate) task: u16,
    pub(crate) name: String,
    pub(crate) info: TaskInfo,
    /// Where the task returns from the runtime; none if the process's own registers are its
    /// registers.
    pub(crate) runtime_exit: Option<RuntimeExit>,
    /// The known registers.
    pub(crate) values: Values,
}

/// The point at which a task returns from the runtime to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RuntimeExit {
    pub(crate) address: u64,
    /// The stack pointer there; 0 if it does not matter.
    pub(crate) rsp: u64,
}

impl Thread {
    pub(crate) fn is_blocked(&self) -> bool {
        self.info.state == task_state::BLOCKED
    }

    /// Whether the task has not executed any instruction of its function.
    pub(crate) fn is_about_to_begin(&self) -> bool {
        let of_start = RuntimeExit { address: self.info.start, rsp: 0 };
        self.task != 0 && self.runtime_exit == Some(of_start)
    }

    /// What the task does, as text.
    pub(crate) fn state(&self, execution: &Execution) -> String {
        let next = self.operation(execution);
        match self.info.state {
            // An exact instruction means that the task is not in a call of the runtime.
            task_state::RUNNING if self.runtime_exit.is_none() || self.info.exact != 0 => {
                "running".to_owned()
            }
            task_state::RUNNING => format!("running: {next}"),
            task_state::RUNNABLE => format!("runnable: {next}"),
            _ => format!("blocked: {next}{}", held_by(self.info.holder, self.info.operation)),
        }
    }

    /// The task's next operation and its object.
    pub(crate) fn operation(&self, execution: &Execution) -> String {
        let operation = Operation::from_code(self.info.operation as u8);
        let name = operation.map_or("?", Operation::name);
        match self.object(execution) {
            Some(object) => format!("{name} {object}"),
            None => name.to_owned(),
        }
    }

    /// The name of that object.
    pub(crate) fn object(&self, execution: &Execution) -> Option<String> {
        let index = self.info.object.checked_sub(1);
        let known = index.and_then(|index| execution.objects.get(index as usize));
        match known {
            Some(object) => Some(object.name.clone()),
            None if self.info.object_address > 0xffff => {
                Some(format!("0x{:x}", self.info.object_address))
            }
            None => None,
        }
    }
}

/// The task that an operation waits for, if it is known.
fn held_by(holder: u32, operation: u32) -> String {
    match holder {
        NO_TASK => String::new(),
        holder if operation == u32::from(Operation::Join.code()) => {
            format!(" (T{holder} has not ended)")
        }
        holder => format!(", held by T{holder}"),
    }
}

/// Every task that has not ended, in order.
pub(crate) fn threads(machine: &mut Machine, symbols: &Symbols) -> Result<Vec<Thread>, Error> {
    let infos = machine.tasks()?;
    let state = machine.state();
    let current = machine.current();
    let mut threads = Vec::new();
    for (number, info) in infos.iter().enumerate() {
        let task = number as u16;
        let running = state == ProcessState::Program && task == current;
        if info.state == task_state::EXITED {
            continue;
        }
        let (values, runtime_exit) =
            if running { own(machine, symbols)? } else { parked(machine, symbols, info, task)? };
        threads.push(Thread {
            task,
            name: name(info, task, symbols),
            info: *info,
            runtime_exit,
            values,
        });
    }
    Ok(threads)
}

fn name(info: &TaskInfo, task: u16, symbols: &Symbols) -> String {
    let end = info.name.iter().position(|&byte| byte == 0).unwrap_or(info.name.len());
    if end > 0 {
        return String::from_utf8_lossy(&info.name[..end]).into_owned();
    }
    match task {
        0 => "main".to_owned(),
        _ => symbols.start_function(info.start).unwrap_or_default(),
    }
}

/// The running task: its registers, or those of its call if it is in the runtime.
pub(crate) fn own(
    machine: &Machine,
    symbols: &Symbols,
) -> Result<(Values, Option<RuntimeExit>), Error> {
    let general = machine.tracee().registers()?;
    let mut values = Values::of(&general, &machine.tracee().vector()?);
    if !machine.is_runtime(general.rip) {
        return Ok((values, None));
    }
    if let Some(probe) = machine.probe_of_copy(general.rip) {
        // Whether the copy of the probed instruction has not executed yet.
        let before = general.rip == probe.copy;
        values.set_word(RIP, if before { probe.address } else { probe.behind });
        return Ok((values, Some(RuntimeExit { address: probe.behind, rsp: 0 })));
    }
    let runtime_exit = runtime_exit(machine, symbols, &Registers::from(&general), true);
    Ok(match runtime_exit {
        Some((registers, runtime_exit)) => (
            presented(machine, &registers, general.fs_base, runtime_exit.address, &general),
            Some(runtime_exit),
        ),
        None => (values, None),
    })
}

fn parked(
    machine: &Machine,
    symbols: &Symbols,
    info: &TaskInfo,
    task: u16,
) -> Result<(Values, Option<RuntimeExit>), Error> {
    let general = machine.tracee().registers()?;
    let starting = info.operation == u32::from(Operation::Start.code());
    if starting && (task != 0 || machine.state() == ProcessState::Begin) {
        // The task is about to begin: show it at its function's first instruction, as if just
        // called.
        let mut registers = Registers::from(info);
        registers.set(16, Some(info.start));
        registers.set(7, Some(info.rsp - 8));
        let mut values = presented(machine, &registers, info.thread_pointer, 0, &general);
        values.set_word(RIP, info.start);
        // The frame of the fiber switch has the argument in r12.
        values.set_word(5, info.r12);
        return Ok((values, Some(RuntimeExit { address: info.start, rsp: 0 })));
    }
    let registers = Registers::from(info);
    Ok(match runtime_exit(machine, symbols, &registers, info.exact != 0) {
        Some((registers, runtime_exit)) => {
            let base = info.thread_pointer;
            let mut values = presented(machine, &registers, base, runtime_exit.address, &general);
            read_vectors(machine, &mut values)?;
            (values, Some(runtime_exit))
        }
        None => (
            presented(machine, &registers, info.thread_pointer, 0, &general),
            Some(RuntimeExit { address: info.rip, rsp: info.rsp }),
        ),
    })
}

/// The registers in the program's innermost frame, and where the task returns to it.
fn runtime_exit(
    machine: &Machine,
    symbols: &Symbols,
    registers: &Registers,
    exact: bool,
) -> Option<(Registers, RuntimeExit)> {
    let hidden = |address| machine.is_runtime(address);
    let (mut registers, exact) = symbols.outside(registers, exact, machine.tracee(), &hidden)?;
    if exact && let Some(probe) = machine.probe(registers.rip()?) {
        // The task is at an instruction, not at a call, and leaves the runtime after it.
        registers.set(16, Some(probe.address));
        return Some((registers, RuntimeExit { address: probe.behind, rsp: 0 }));
    }
    let runtime_exit = RuntimeExit { address: registers.rip()?, rsp: registers.rsp()? };
    Some((registers, runtime_exit))
}

/// The registers for the debugger: the task is *at* its call, which has not completed. Registers
/// that a call may change are unknown.
fn presented(
    machine: &Machine,
    registers: &Registers,
    thread_pointer: u64,
    return_address: u64,
    general: &libc::user_regs_struct,
) -> Values {
    let mut values = Values::unknown();
    for (number, dwarf) in [(1, 3), (RBP, 6), (RSP, 7), (12, 12), (13, 13), (14, 14), (15, 15)] {
        if let Some(word) = registers.get(dwarf) {
            values.set_word(number, word);
        }
    }
    let rip = match return_address {
        0 => registers.rip().unwrap_or(0),
        address
            if machine
                .probe(registers.rip().unwrap_or(0))
                .is_some_and(|probe| probe.behind == address) =>
        {
            registers.rip().unwrap_or(0)
        }
        address => call_before(machine.tracee(), address),
    };
    values.set_word(RIP, rip);
    values.set_word(FS_BASE, thread_pointer);
    values.set_word(59, general.gs_base);
    let segments = [general.cs, general.ss, general.ds, general.es, general.fs, general.gs];
    for (number, word) in (18..).zip(segments) {
        values.set_word(number, word);
    }
    values.set_word(57, u64::MAX);
    if let (Some(probe), Some(rsp)) = (machine.probe(rip), registers.rsp()) {
        saved_at(machine.tracee(), probe.address, rsp, &mut values);
    }
    values
}

/// The registers that the runtime saved when a task reached a probe.
fn saved_at(memory: &dyn Memory, probe: u64, rsp: u64, values: &mut Values) {
    // gdb's numbers of the registers, in the order of the instruction encoding.
    const NUMBERS: [usize; 17] = [0, 2, 3, 1, RSP, RBP, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 17];
    let mut bytes = [0; 8 * 20];
    if memory.read(rsp.wrapping_sub(PROBE_FRAME), &mut bytes) < bytes.len() {
        return;
    }
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect();
    if words[19] != probe {
        return;
    }
    for (number, word) in NUMBERS.into_iter().zip(words) {
        values.set_word(number, word);
    }
}

/// The vector registers that the runtime saved when a task parked at a probe.
fn read_vectors(machine: &Machine, values: &mut Values) -> Result<(), Error> {
    /// The components that the runtime saves.
    const SAVED: u64 = 0xe7;
    /// The processor's enabled components, in what the kernel reserves in the area for software.
    const ENABLED: Range<usize> = 464..472;
    let rip = values.word(RIP).unwrap_or(0);
    let flags = values.word(17);
    let (Some(rsp), Some(_), Some(_)) = (values.word(RSP), flags, machine.probe(rip)) else {
        return Ok(());
    };
    let now = machine.tracee().vector()?;
    let enabled = now.get(ENABLED).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes);
    let size = match enabled.unwrap_or(0) & SAVED {
        mask if mask & 0xe0 != 0 => 2688,
        mask if mask & 4 != 0 => 832,
        _ => 576,
    };
    // As the stub computes it, with room for the alignment.
    let at = (rsp.wrapping_sub(PROBE_FRAME) - (size as u64 + 64)) & !63;
    let mut area = vec![0; size];
    if machine.tracee().read(at, &mut area) == size {
        values.read_vector(&area);
        // All tasks run in one kernel thread, and the runtime leaves these as they are.
        values.read_keys(&now);
    }
    Ok(())
}

/// The instruction before a return address: a call or a system call.
fn call_before(memory: &dyn Memory, address: u64) -> u64 {
    let mut code = [0u8; 8];
    let start = address.wrapping_sub(8);
    if memory.read(start, &mut code) < code.len() {
        return address.wrapping_sub(1);
    }
    // The register field of `ff /2`, a call through a register or memory.
    let through = |at: usize| code[at] == 0xff && code[at + 1] >> 3 & 7 == 2;
    let len = if code[6..] == [0x0f, 0x05] {
        2
    } else if code[3] == 0xe8 {
        5
    } else if through(2) && (code[3] & 0xc7 == 0x05 || code[3] >> 6 == 2) {
        6
    } else if through(6) && (code[7] >> 6 == 3 || code[7] >> 6 == 0) {
        if code[5] & 0xf8 == 0x40 { 3 } else { 2 }
    } else if through(5) && code[6] >> 6 == 1 {
        3
    } else {
        1
    };
    address - len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_that_an_operation_waits_for_is_named() {
        let code = |operation: Operation| u32::from(operation.code());
        assert_eq!(held_by(NO_TASK, code(Operation::Lock)), "");
        assert_eq!(held_by(2, code(Operation::Lock)), ", held by T2");
        assert_eq!(held_by(2, code(Operation::Join)), " (T2 has not ended)");
    }

    #[test]
    fn the_call_before_a_return_address_is_found() {
        for (code, len) in [
            (vec![0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4], 5),
            (vec![0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4], 6),
            (vec![0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], 2),
            (vec![0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4], 3),
            (vec![0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18], 3),
            (vec![0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x05], 2),
            (vec![0x90; 8], 1),
        ] {
            let memory = (0x1000, code.as_slice());
            assert_eq!(call_before(&memory, 0x1008), 0x1008 - len, "{code:x?}");
        }
    }
}

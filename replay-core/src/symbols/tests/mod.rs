//! Compiles small programs and checks their symbols.

mod hostile;
mod lines;
mod maps;
mod modules;
mod stacks;
mod values;
mod variables;

use super::{Memory, ProcessMemory, Registers, StackFrame, Symbols};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory of one test.
pub(super) struct Dir(PathBuf);

impl Dir {
    pub(super) fn new() -> Dir {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("heddle-symbols-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Dir(path.canonicalize().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Compiles `text` with the compiler for the file name's extension, in this directory.
    pub(super) fn compile(&self, name: &str, text: &str, options: &[&str]) -> PathBuf {
        let source = self.path(name);
        std::fs::write(&source, text).unwrap();
        let compiler = match source.extension().unwrap().to_str().unwrap() {
            "c" => "gcc",
            "cc" => "g++",
            _ => "rustc",
        };
        let program = self.path(&format!("{}.out", name.replace('.', "-")));
        self.run(Command::new(compiler).arg(&source).arg("-o").arg(&program).args(options));
        program
    }

    pub(super) fn run(&self, command: &mut Command) {
        let out = command.current_dir(&self.0).output().unwrap();
        assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A child that stopped itself with `raise(SIGSTOP)`.
pub(super) struct Stopped {
    child: Child,
    /// The thread that stopped the process.
    pub(super) registers: Registers,
    pub(super) symbols: Symbols,
    pub(super) memory: ProcessMemory,
}

impl Stopped {
    pub(super) fn new(program: &Path) -> Stopped {
        let child = Command::new(program).spawn().unwrap();
        Stopped::wait(child, None)
    }

    /// Waits until the child has stopped; the registers are those of `thread`, or of main.
    pub(super) fn wait(child: Child, thread: Option<&dyn Fn(i32) -> i32>) -> Stopped {
        let pid = i32::try_from(child.id()).unwrap();
        let mut status = 0;
        // SAFETY: the child is ours and no other code waits for it.
        let stopped = unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) };
        assert!(stopped == pid && libc::WIFSTOPPED(status), "status {status:#x}");
        let thread = thread.map_or(pid, |thread| thread(pid));
        // SAFETY: zeroes are registers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let none = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: attaching to a thread of a child that is stopped and waits for it, and reading
        // its registers into a structure of the right size.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, thread, none, none), 0);
            assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, thread, none, none), 0);
            assert_eq!(libc::waitpid(thread, &mut status, libc::__WALL), thread);
            let into = (&raw mut registers).cast::<libc::c_void>();
            assert_eq!(libc::ptrace(libc::PTRACE_GETREGS, thread, none, into), 0);
            // The process stays stopped; a thread that is still traced could not be reaped with it.
            assert_eq!(libc::ptrace(libc::PTRACE_DETACH, thread, none, none), 0);
        }
        let symbols = Symbols::of_process(pid).unwrap();
        let memory = ProcessMemory::open(pid).unwrap();
        Stopped { child, registers: Registers::from(&registers), symbols, memory }
    }

    pub(super) fn frames(&self) -> Vec<StackFrame> {
        self.symbols.unwind(&self.registers, true, &self.memory, "")
    }

    /// The functions of the program on the stack (without inlined ones), innermost first.
    pub(super) fn functions(&self) -> Vec<String> {
        let own = self.frames().into_iter().filter_map(|frame| {
            let site = self.symbols.site(frame.address).filter(|site| site.module == 0)?;
            Some(self.symbols.frames(site, frame.exact).pop()?.function)
        });
        own.collect()
    }

    pub(super) fn word(&self, address: u64) -> u64 {
        let mut word = [0; 8];
        assert_eq!(self.memory.read(address, &mut word), 8);
        u64::from_le_bytes(word)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

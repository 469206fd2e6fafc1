//! Complete stacks of stopped processes.

use super::{Dir, Stopped};
use crate::symbols::cfi::Cfa;
use std::process::Command;

const DEEP: &str = r#"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noipa))
static int depth;
KEEP int leaf(int a) { raise(SIGSTOP); return a + depth; }
KEEP int recurse(int n, char *up) {
    char local[48];
    memset(local, n, sizeof local);
    int below = n ? recurse(n - 1, local) : leaf(n);
    return below + local[n % 48] + (up ? up[3] : 0);
}
KEEP int compare(const void *a, const void *b) {
    int n = depth++ == 0 ? recurse(40, 0) : 0;
    return *(const int *)a - *(const int *)b + 0 * n;
}
int main(int argc, char **argv) {
    int values[] = { 3, 1, 2, argc };
    qsort(values, 4, sizeof *values, compare);
    return values[0];
}
"#;

fn expected() -> Vec<String> {
    let mut names = vec!["leaf"];
    names.extend(["recurse"; 41]);
    names.extend(["compare", "main", "_start"]);
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn deep_recursion_under_libc_without_frame_pointers() {
    let dir = Dir::new();
    for (name, options) in [
        ("pie.c", &["-O2", "-fomit-frame-pointer", "-g"][..]),
        ("nolines.c", &["-O2", "-fomit-frame-pointer"]),
        ("fixed.c", &["-O2", "-fomit-frame-pointer", "-no-pie", "-fno-pie"]),
        ("static.c", &["-O2", "-fomit-frame-pointer", "-static"]),
        ("odd name.c", &["-O1", "-static-pie", "-fPIE"]),
        ("shadow.c", &["-O2", "-fcf-protection=full", "-fstack-protector-all"]),
    ] {
        let stopped = Stopped::new(&dir.compile(name, DEEP, options));
        let mut functions = stopped.functions();
        if options.iter().any(|option| option.starts_with("-static")) {
            functions.retain(|function| expected().contains(function));
        }
        assert_eq!(functions, expected(), "{name}");
    }
}

#[test]
fn a_stripped_program_unwinds_like_the_unstripped_one() {
    let dir = Dir::new();
    let program = dir.compile("whole.c", DEEP, &["-O2", "-fomit-frame-pointer", "-no-pie"]);
    let bare = dir.path("bare");
    dir.run(Command::new("strip").arg("-s").arg("-o").arg(&bare).arg(&program));
    // Without section headers, only the index in the program headers is available.
    let headless = dir.path("headless");
    let mut bytes = std::fs::read(&bare).unwrap();
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    std::fs::copy(&bare, &headless).unwrap();
    std::fs::write(&headless, bytes).unwrap();
    let sites = |program| {
        let stopped = Stopped::new(program);
        let frames = stopped.frames();
        let sites = frames.iter().map(|frame| stopped.symbols.site(frame.address).unwrap());
        sites.map(|site| (site.module == 0, site.offset)).collect::<Vec<_>>()
    };
    let whole = sites(&program);
    assert!(whole.len() > 45, "{whole:x?}");
    assert_eq!(sites(&bare), whole);
    assert_eq!(sites(&headless), whole);
}

#[test]
fn frames_without_cfi_go_by_debug_frame_or_by_frame_pointers() {
    let dir = Dir::new();
    let no_tables = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-O1"];
    let debug = [&no_tables[..], &["-g", "-fomit-frame-pointer"]].concat();
    let stopped = Stopped::new(&dir.compile("debug.c", DEEP, &debug));
    assert_eq!(stopped.functions(), expected());
    let linked = [&no_tables[..], &["-fno-omit-frame-pointer"]].concat();
    let stopped = Stopped::new(&dir.compile("linked.c", DEEP, &linked));
    assert_eq!(stopped.functions()[..43], expected()[..43]);
}

#[test]
fn realigned_frames_and_alloca() {
    let dir = Dir::new();
    let program = dir.compile(
        "drap.c",
        r#"
#include <alloca.h>
#include <signal.h>
#include <string.h>
#define KEEP __attribute__((noipa))
KEEP void use(void *a, void *b) { asm volatile("" :: "r"(a), "r"(b) : "memory"); }
KEEP int leaf(int n) { raise(SIGSTOP); return n; }
KEEP int aligned(int n, int a, int b, int c, int d, int e, int f, int g) {
    _Alignas(64) char wide[256];
    char *more = alloca(n * 17);
    use(wide, more);
    int below = n ? aligned(n - 1, a, b, c, d, e, f, g) : leaf(n);
    use(wide, more);
    return below + g;
}
KEEP int variable(int n) {
    char array[n * 100 + 1];
    use(array, 0);
    int below = aligned(n, 1, 2, 3, 4, 5, 6, 7);
    use(array, 0);
    return below;
}
int main(int argc, char **argv) { return variable(argc + 4) + 1; }
"#,
        &["-O2", "-fomit-frame-pointer"],
    );
    let stopped = Stopped::new(&program);
    let mut expected = vec!["leaf"];
    expected.extend(["aligned"; 6]);
    expected.extend(["variable", "main", "_start"]);
    assert_eq!(stopped.functions(), expected);
    let rows = stopped.symbols.rows.lock().unwrap();
    let by_expression = |row: &crate::symbols::cfi::Row| matches!(row.cfa, Cfa::Expression(_));
    assert!(rows.values().flatten().any(|row| by_expression(row)), "nothing was realigned");
}

#[test]
fn frames_found_by_any_saved_register() {
    let dir = Dir::new();
    // The frame address is in rbx, and rbx itself is restored two frames further down.
    let program = dir.compile(
        "rbx.c",
        r#"
#include <signal.h>
__attribute__((noipa)) long leaf(long n) {
    register long keep asm("rbx") = n * 3;
    asm volatile("" : "+r"(keep));
    raise(SIGSTOP);
    asm volatile("" : "+r"(keep));
    return keep;
}
asm(".text\n.globl odd\n.type odd,@function\nodd:\n.cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbx,-16\n"
    "mov %rsp,%rbx\n.cfi_def_cfa_register rbx\n"
    "sub $1000,%rsp\nand $-128,%rsp\ncall leaf\n"
    "mov %rbx,%rsp\n.cfi_def_cfa_register rsp\n"
    "pop %rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size odd,.-odd\n");
long odd(long);
int main(int argc, char **argv) { return odd(argc) + argc; }
"#,
        &["-O2"],
    );
    assert_eq!(Stopped::new(&program).functions(), ["leaf", "odd", "main", "_start"]);
}

const SIGNALS: &str = r#"
#include <signal.h>
#include <stdlib.h>
#define KEEP __attribute__((noipa))
static volatile int seen;
static void handler(int signal) { raise(SIGSTOP); seen = signal; }
/* All in the red zone: rsp does not move here. */
KEEP int leaf(volatile int *p) {
    volatile char zone[100];
    for (int i = 0; i < 100; i++) zone[i] = i;
    *p = 1;
    return zone[7];
}
KEEP int nowhere(int (*f)(int)) { return f(3) + 1; }
KEEP int both(int argc) { return argc > 1 ? leaf(0) + 1 : CHOICE + 1; }
int main(int argc, char **argv) {
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
    sigaltstack(&stack, 0);
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    sigaction(SIGSEGV, &action, 0);
    return both(argc);
}
"#;

#[test]
fn through_a_signal_on_another_stack_into_a_red_zone() {
    let dir = Dir::new();
    let options = ["-O2", "-g", "-DCHOICE=leaf(0)"];
    let stopped = Stopped::new(&dir.compile("zone.c", SIGNALS, &options));
    assert_eq!(stopped.functions(), ["handler", "leaf", "both", "main", "_start"]);
    let frames = stopped.frames();
    let leaf = frames.iter().find(|frame| {
        let site = stopped.symbols.site(frame.address).unwrap();
        stopped.symbols.frames(site, frame.exact)[0].function == "leaf"
    });
    let leaf = leaf.unwrap();
    assert!(leaf.exact);
    let site = stopped.symbols.site(leaf.address).unwrap();
    assert_eq!(stopped.symbols.frames(site, true)[0].place(), "zone.c:11");
    // The handler returns to code that did not call it: its name is not looked up before the
    // address.
    let at = frames.iter().position(|frame| frame == leaf).unwrap();
    assert!(frames[at - 1].exact && !frames[at - 2].exact);
}

#[test]
fn a_call_to_an_invalid_address_shows_the_caller() {
    let dir = Dir::new();
    let options = ["-O2", "-DCHOICE=nowhere((int(*)(int))64)"];
    let stopped = Stopped::new(&dir.compile("null.c", SIGNALS, &options));
    assert_eq!(stopped.functions(), ["handler", "nowhere", "both", "main", "_start"]);
    assert!(stopped.frames().iter().any(|frame| frame.address == 64 && frame.exact));
}

#[test]
fn a_thread_ends_where_it_was_started() {
    let dir = Dir::new();
    let program = dir.compile(
        "thread.cc",
        r#"
#include <csignal>
#include <thread>
template <class T> __attribute__((noipa)) T leaf(T n) { raise(SIGSTOP); return n + 1; }
void work(int n) { leaf<long>(n); asm volatile(""); }
int main() { std::thread t(work, 4); t.join(); }
"#,
        &["-O2", "-pthread", "-g"],
    );
    let child = Command::new(&program).spawn().unwrap();
    let other = |pid: i32| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let ids = tasks.map(|task| task.unwrap().file_name().into_string().unwrap());
        ids.map(|id| id.parse().unwrap()).find(|&id: &i32| id != pid).unwrap()
    };
    let stopped = Stopped::wait(child, Some(&other));
    let frames = stopped.symbols.stack(&stopped.registers, true, &stopped.memory, "");
    let names: Vec<&str> = frames.iter().map(|frame| &*frame.function).collect();
    assert!(names.contains(&"leaf<long>") && names.contains(&"work"), "{names:?}");
    // Without debug information for libc, its internal functions have no name.
    assert!(frames.last().unwrap().module.contains("libc.so"), "{frames:?}");
    assert!(
        ["", "clone3", "__clone3", "__GI___clone3"].contains(names.last().unwrap()),
        "{names:?}"
    );
    let hidden = stopped.symbols.stack(&stopped.registers, true, &stopped.memory, "thread-cc");
    assert!(!hidden.is_empty() && hidden.iter().all(|frame| frame.function != "work"));
}

#[test]
fn a_rust_stack_with_inlined_calls() {
    let dir = Dir::new();
    let program = dir.compile(
        "stack.rs",
        r#"
unsafe extern "C" { fn raise(signal: i32) -> i32; }
struct Guard<T>(T);
impl<T: Copy + Into<u64>> Guard<T> {
    #[inline(always)]
    fn pass(&self, n: u32) -> u64 { let below = std::hint::black_box(deep(n)); below + self.0.into() }
}
#[inline(never)]
fn deep(n: u32) -> u64 {
    if n == 0 { unsafe { raise(19) as u64 } } else { Guard(n).pass(n - 1) + 1 }
}
fn main() { println!("{}", deep(9)); }
"#,
        &["-Cdebuginfo=2", "-Copt-level=2"],
    );
    let stopped = Stopped::new(&program);
    let frames = stopped.symbols.stack(&stopped.registers, true, &stopped.memory, "");
    let count = |name: &str| frames.iter().filter(|frame| frame.function.contains(name)).count();
    assert_eq!((count("deep"), count("pass")), (10, 9), "{frames:#?}");
    let inlined = frames.iter().find(|frame| frame.function.contains("pass")).unwrap();
    assert_eq!((inlined.inlined, inlined.line), (true, 6));
    assert!(inlined.file.ends_with("stack.rs"));
    assert_eq!((count("stack::main"), &*frames.last().unwrap().function), (1, "_start"));
}

//! Functions, files and lines.

use super::Dir;
use crate::symbols::{Image, Symbols};
use std::path::Path;
use std::process::Command;
use traces::{Module, Site};

/// The symbols of a file, and the site of the function whose linkage name contains `name`.
fn open(program: &Path, name: &str) -> (Symbols, Site) {
    use object::{Object, ObjectSymbol};
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let found = file.symbols().find(|symbol| {
        symbol.kind() == object::SymbolKind::Text && symbol.name().is_ok_and(|n| n.contains(name))
    });
    let offset = found.unwrap_or_else(|| panic!("no {name}")).address();
    (Symbols::of_modules(&[module(program)]), Site { module: 0, offset })
}

fn module(program: &Path) -> Module {
    let build_id = crate::symbols::build_id(program).unwrap();
    Module { path: program.to_str().unwrap().into(), build_id }
}

const CHAIN: &str = r#"
extern int opaque(int);
static inline __attribute__((always_inline)) int inner(int a) {
    return opaque(a);
}
static inline __attribute__((always_inline)) int middle(int a) {
    return inner(a + 1) + 2;
}
__attribute__((noipa)) int outer(int a) {
    return middle(a) * 3;
}
__attribute__((noipa)) int opaque(int a) { return a; }
int main(void) { return outer(1); }
"#;

/// The return address of the first call in a function.
fn after_call(program: &Path, at: Site) -> Site {
    let image = Image::open(program).unwrap();
    let code = image.file().part_at(at.offset).unwrap();
    let bytes = &image.file().bytes()[code.bytes];
    let call = bytes.iter().position(|&byte| byte == 0xe8).unwrap();
    Site { offset: at.offset + call as u64 + 5, ..at }
}

fn check_chain(program: &Path, symbols: &Symbols, outer: Site) {
    let frames = symbols.frames(after_call(program, outer), false);
    let seen: Vec<_> =
        frames.iter().map(|frame| (frame.function.as_str(), frame.line, frame.inlined)).collect();
    assert_eq!(seen, [("inner", 4, true), ("middle", 7, true), ("outer", 10, false)]);
    assert!(frames.iter().all(|frame| frame.file.ends_with("chain.c") && frame.column > 0));
}

#[test]
fn an_inlined_chain_however_the_lines_are_kept() {
    let dir = Dir::new();
    for options in [
        &["-O2", "-g"][..],
        &["-O2", "-gdwarf-4"],
        &["-O2", "-g", "-gz", "-no-pie"],
        &["-O2", "-g", "-gsplit-dwarf"],
        &["-O2", "-g", "-flto"],
    ] {
        let program = dir.compile("chain.c", CHAIN, options);
        let (symbols, outer) = open(&program, "outer");
        check_chain(&program, &symbols, outer);
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn lines_in_a_separate_file() {
    let dir = Dir::new();
    let program = dir.compile("chain.c", CHAIN, &["-O2", "-g"]);
    let (_, outer) = open(&program, "outer");
    let debug = dir.path("elsewhere.debug");
    let bare = dir.path("bare");
    let objcopy = || Command::new("objcopy");
    dir.run(objcopy().arg("--only-keep-debug").arg(&program).arg(&debug));
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    dir.run(objcopy().arg("--strip-all").arg(link).arg(&program).arg(&bare));
    check_chain(&bare, &Symbols::of_modules(&[module(&bare)]), outer);
    // The symbols come from the separate file too.
    let main = Symbols::of_modules(&[module(&bare)]).frames(outer, true);
    assert_eq!(main.last().unwrap().function, "outer");

    // Without the file, only the location is known.
    std::fs::remove_file(&debug).unwrap();
    let again = dir.path("again");
    std::fs::copy(&bare, &again).unwrap();
    let frames = Symbols::of_modules(&[module(&again)]).frames(outer, true);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].function, "");
    assert_eq!(frames[0].place(), format!("again+0x{:x}", outer.offset));
}

#[test]
fn packed_split_lines() {
    let dir = Dir::new();
    let program = dir.compile("chain.c", CHAIN, &["-O2", "-gdwarf-4", "-gsplit-dwarf"]);
    let mut package = program.clone().into_os_string();
    package.push(".dwp");
    dir.run(Command::new("dwp").arg("-e").arg(&program).arg("-o").arg(package));
    for entry in std::fs::read_dir(&dir.0).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let (symbols, outer) = open(&program, "outer");
    check_chain(&program, &symbols, outer);
}

#[test]
fn a_return_address_means_the_call_before_it() {
    let dir = Dir::new();
    // The call is the last instruction of `last`: the return address belongs to the next function.
    let text = r#"
#include <stdlib.h>
__attribute__((noipa)) void last(void) {
    abort();
}
__attribute__((noipa)) int next(void) { return 1; }
int main(void) { if (next()) last(); return 0; }
"#;
    let program = dir.compile("last.c", text, &["-O2", "-g", "-fno-reorder-functions"]);
    let (symbols, last) = open(&program, "last");
    let back = after_call(&program, last);
    let frames = symbols.frames(back, false);
    assert_eq!((frames[0].function.as_str(), frames[0].line), ("last", 4));
    assert_ne!(symbols.frames(back, true), frames);
}

#[test]
fn templates_and_generics_are_demangled() {
    let dir = Dir::new();
    let text = r#"
#include <string>
namespace shop { template <class T> struct Queue { T last; __attribute__((noipa)) void push(const T &t) { last = t; } }; }
int main() { shop::Queue<std::string> q; q.push("x"); shop::Queue<int> r; r.push(1); return r.last; }
"#;
    for options in [&["-O1", "-g"][..], &["-O1"]] {
        let program = dir.compile("queue.cc", text, options);
        let (symbols, site) = open(&program, "QueueIiE4push");
        assert_eq!(symbols.frames(site, true)[0].function, "shop::Queue<int>::push");
        std::fs::remove_file(program).unwrap();
    }
    let text = r#"
pub mod shop {
    pub struct Queue<T>(pub Vec<T>);
    impl<T: Copy> Queue<T> {
        #[inline(never)]
        pub fn push_it(&mut self, t: T) { self.0.push(t) }
    }
}
fn main() { let mut q = shop::Queue(vec![1u8]); q.push_it(2); std::process::exit(q.0.len() as i32) }
"#;
    for mangling in ["-Csymbol-mangling-version=v0", "-Cdebuginfo=0", "-Cdebuginfo=1"] {
        let program = dir.compile("queue.rs", text, &[mangling]);
        let (symbols, site) = open(&program, "push_it");
        let name = &symbols.frames(site, true)[0].function;
        assert!(
            name.starts_with("<queue::shop::Queue<") || name.starts_with("queue::shop::Queue<"),
            "{name}"
        );
        assert!(name.ends_with(">::push_it") || name.ends_with(">>::push_it"), "{name}");
        std::fs::remove_file(program).unwrap();
    }
}

#[test]
fn a_file_that_is_not_the_one_of_the_trace_gives_no_names() {
    let dir = Dir::new();
    let program = dir.compile("chain.c", CHAIN, &["-O2", "-g"]);
    let (symbols, outer) = open(&program, "outer");
    let old = module(&program);
    assert_eq!(symbols.frames(outer, true).last().unwrap().function, "outer");
    std::fs::remove_file(&program).unwrap();
    dir.compile("chain.c", &CHAIN.replace("* 3", "* 5"), &["-O2", "-g"]);
    let symbols = Symbols::of_modules(std::slice::from_ref(&old));
    assert_eq!(symbols.frames(outer, true)[0].function, "");
    let symbols = Symbols::of_modules(&[module(&program)]);
    assert_eq!(symbols.frames(outer, true).last().unwrap().function, "outer");
    let symbols = Symbols::of_modules(&[Module { build_id: String::new(), ..old }]);
    assert_eq!(symbols.frames(outer, true).last().unwrap().function, "outer");
}

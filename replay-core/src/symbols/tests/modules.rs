//! Modules of real processes.

use super::{Dir, Stopped};
use crate::symbols::{Symbols, build_id};
use std::process::Command;
use traces::Site;

const STOP: &str =
    "#include <signal.h>\nint here = 7;\nint main(void) { raise(SIGSTOP); return here; }\n";

#[test]
fn the_program_is_module_0_and_sites_map_back_to_addresses() {
    let dir = Dir::new();
    let program = dir.compile("spaced name.c", STOP, &["-g", "-Wl,--build-id=0x00ff17"]);
    assert_eq!(build_id(&program).unwrap(), "00ff17");
    let stopped = Stopped::new(&program);
    let modules = stopped.symbols.modules();
    assert_eq!(modules[0].path, program.to_str().unwrap());
    assert_eq!(modules[0].build_id, "00ff17");
    for name in ["libc.so", "ld-linux", "[vdso]"] {
        let count = modules.iter().filter(|module| module.path.contains(name)).count();
        assert_eq!(count, 1, "{name}: {modules:?}");
    }
    assert!(modules.iter().all(|module| !module.build_id.is_empty()));
    let again = Symbols::of_modules(&modules);
    let here = (0x1000..0x8000)
        .map(|offset| Site { module: 0, offset })
        .find(|&site| again.variable(site) == Some("here".into()));
    let address = stopped.symbols.address(here.unwrap()).unwrap();
    assert_eq!(stopped.word(address) as u32, 7);
    assert_eq!(stopped.symbols.site(address), here);
    let main = stopped.frames().into_iter().find_map(|frame| {
        let site = stopped.symbols.site(frame.address)?;
        (stopped.symbols.frames(site, false)[0].function == "main").then_some(frame.address)
    });
    assert_eq!(stopped.symbols.start_function(main.unwrap()).as_deref(), Some("main"));
    assert_eq!(stopped.symbols.start_function(1), None);
}

#[test]
fn a_deleted_program_still_has_symbols() {
    let dir = Dir::new();
    let program = dir.compile("gone.c", STOP, &["-g"]);
    let child = Command::new(&program).spawn().unwrap();
    std::fs::remove_file(&program).unwrap();
    let stopped = Stopped::wait(child, None);
    assert_eq!(stopped.symbols.modules()[0].path, program.to_str().unwrap());
    assert!(stopped.symbols.map().modules()[0].deleted);
    assert_eq!(stopped.functions(), ["main", "_start"]);
}

#[test]
fn a_library_with_its_own_code() {
    let dir = Dir::new();
    let library = dir.compile(
        "libfour.c",
        "#include <signal.h>\nint four(void) { raise(SIGSTOP); return 4; }\n",
        &["-shared", "-fPIC", "-O2", "-g"],
    );
    let text = "int four(void); int main(void) { return four() + 1; }";
    let program = dir.compile("user.c", text, &["-O2", library.to_str().unwrap()]);
    let stopped = Stopped::new(&program);
    let stack = stopped.symbols.stack(&stopped.registers, true, &stopped.memory, "");
    let four = stack.iter().find(|frame| frame.function == "four").unwrap();
    assert_eq!(four.place(), "libfour.c:2");
    assert!(four.module.ends_with("libfour-c.out") && four.site.unwrap().module > 0);
    let hidden = stopped.symbols.stack(&stopped.registers, true, &stopped.memory, "libfour");
    assert!(hidden.iter().any(|frame| frame.function == "main"));
    assert!(hidden.iter().all(|frame| frame.function != "four"));
}

#[test]
fn files_without_a_note_are_known_by_their_content() {
    let dir = Dir::new();
    let a = dir.compile("a.c", STOP, &["-Wl,--build-id=none"]);
    let id = build_id(&a).unwrap();
    assert!(id.starts_with("file-") && id.len() == 45, "{id}");
    let b = dir.path("b");
    std::fs::copy(&a, &b).unwrap();
    assert_eq!(build_id(&b).unwrap(), id);
    std::fs::write(&b, b"").unwrap();
    assert_ne!(build_id(&b).unwrap(), id);
    assert!(build_id(&dir.path("none")).is_err());
    assert!(Symbols::of_process(i32::MAX).is_err());
}

#[test]
fn the_vdso_has_symbols() {
    let pid = i32::try_from(std::process::id()).unwrap();
    let symbols = Symbols::of_process(pid).unwrap();
    let module = symbols.modules().iter().position(|module| module.path == "[vdso]").unwrap();
    let module = u16::try_from(module).unwrap();
    let names = (0..0x2000).step_by(16).map(|offset| Site { module, offset });
    let known = names.flat_map(|site| symbols.frames(site, true));
    assert!(known.into_iter().any(|frame| frame.function.contains("clock_gettime")));
}

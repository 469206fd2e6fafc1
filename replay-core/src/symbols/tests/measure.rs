//! What it costs. The numbers are printed, not asserted: `cargo test -- --ignored --nocapture`.

use super::{Dir, Stopped};
use crate::symbols::{Image, Symbols};
use std::time::Instant;

#[test]
#[ignore = "prints numbers; run it by hand with --release"]
fn first_address_and_warm_stack() {
    let dir = Dir::new();
    let text = r#"
unsafe extern "C" { fn raise(signal: i32) -> i32; }
#[inline(never)]
fn deep(n: u32) -> u64 {
    if n == 0 { unsafe { raise(19) as u64 } } else { std::hint::black_box(deep(n - 1)) + 1 }
}
fn main() { println!("{}", deep(10)); }
"#;
    let program = dir.compile("cost.rs", text, &["-g", "-Copt-level=1"]);
    let stopped = Stopped::new(&program);
    let time = |what: &str, times: u32, work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        println!("{what}: {:.1} us", start.elapsed().as_secs_f64() * 1e6 / f64::from(times));
    };
    println!("program: {} KiB", std::fs::metadata(&program).unwrap().len() / 1024);
    let pid = i32::try_from(stopped.child.id()).unwrap();
    time("modules of a process, images cached", 100, &mut || {
        Symbols::of_process(pid).unwrap();
    });
    // Nothing of it is cached under another name.
    let copy = dir.path("copy");
    std::fs::copy(&program, &copy).unwrap();
    let own = stopped.frames();
    let mut own = own.iter().filter_map(|frame| stopped.symbols.site(frame.address));
    let own = own.find(|site| site.module == 0).unwrap();
    time("open the program", 1, &mut || assert!(Image::open(&copy).is_some()));
    let image = Image::open(&copy).unwrap();
    time("its first address: lines", 1, &mut || assert!(!image.lines(own.offset).is_empty()));
    time("its first address: symbol", 1, &mut || {
        assert!(image.table().function(own.offset).is_some());
    });
    time("an address more", 1000, &mut || drop(image.lines(own.offset)));
    let frames = stopped.frames().len();
    time(&format!("stack of {frames} frames, first time after modules"), 1, &mut || {
        let symbols = Symbols::of_process(pid).unwrap();
        assert_eq!(symbols.unwind(&stopped.registers, true, &stopped.memory, "").len(), frames);
    });
    time(&format!("stack of {frames} frames, warm"), 1000, &mut || drop(stopped.frames()));
    time("the same with names, first time", 1, &mut || {
        drop(stopped.symbols.stack(&stopped.registers, true, &stopped.memory, ""));
    });
    time("the same with names, warm", 1000, &mut || {
        drop(stopped.symbols.stack(&stopped.registers, true, &stopped.memory, ""));
    });
}

//! Prints how long programs of Debian packages take natively and by `heddle run` with the default options, and
//! what differs in their output: `cargo run --release -p tests --example native_figures -- [PACKAGE...]`. The
//! programs are those of `tests/corpus/programs.toml`, without the servers.

use std::time::Duration;
use tests::programs::{Expected, LONGER, Program, programs};

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let is_compared = |one: &&Program| {
        let is_asked = only.is_empty() || only.contains(&one.package);
        is_asked && one.clients.is_empty() && one.expected == Expected::Passes
    };
    print(programs().iter().filter(is_compared), 1);
    println!("\nThe same with {LONGER} times the input:\n");
    print(programs().iter().filter(is_compared).filter(|one| one.reads_lines()), LONGER);
}

/// Prints the table of these programs. `longer`: how many times their input is repeated.
fn print<'a>(programs: impl Iterator<Item = &'a Program>, longer: usize) {
    println!(
        "| package | version | natively, ms | by `heddle run`, ms | ratio | a search of one execution, ms | differs |"
    );
    println!("| --- | --- | --: | --: | --: | --: | --- |");
    let (mut within, mut soon, mut all, mut missing) = (0, 0, 0, Vec::new());
    for program in programs {
        let name = &program.package;
        let found = match program.compare(longer) {
            Ok(found) => found,
            Err(why) => {
                missing.push(format!("{name} ({why})"));
                continue;
            }
        };
        let ratio = found.under_run.as_secs_f64() / found.native.as_secs_f64().max(1e-9);
        all += 1;
        within += u32::from(ratio <= 20.0);
        let is_soon = |first: Duration| first <= found.native + Duration::from_secs(1);
        soon += u32::from(found.first.is_some_and(is_soon));
        let [native, under_run] =
            [found.native, found.under_run].map(|time| time.as_secs_f64() * 1e3);
        let first = found.first.map(|time| format!("{:.1}", time.as_secs_f64() * 1e3));
        let first = first.unwrap_or_default();
        println!(
            "| {name} | {} | {native:.1} | {under_run:.1} | {ratio:.1} | {first} | {} |",
            program.version(),
            found.differs.replace('|', "/")
        );
    }
    println!("\n{within} of {all} programs take at most 20 times as long");
    if longer == 1 {
        println!("{soon} have the first execution of a search at most 1 s later than natively");
    }
    if !missing.is_empty() {
        println!("not run: {}", missing.join(", "));
    }
}

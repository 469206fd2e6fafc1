//! Searches multithreaded programs of Debian packages and prints the table of `docs/figures.md`:
//! `cargo run --release -p tests --example programs -- [EXECUTIONS [TIME [PACKAGE...]]]`. Packages that
//! are not installed are named at the end.

use tests::programs::{Expected, Found, Program, programs};

fn main() {
    let mut args = std::env::args().skip(1);
    let executions = args.next().unwrap_or_else(|| "10000".to_owned());
    let time = args.next().unwrap_or_else(|| "20s".to_owned());
    let only: Vec<String> = args.collect();
    let limits = ["--max-executions", &executions, "--max-time", &time];
    println!(
        "| package | version | program | result | executions | a second | steps | as expected |"
    );
    println!("| --- | --- | --- | --- | --: | --: | --: | --- |");
    let (mut works, mut all, mut missing) = (0, 0, Vec::new());
    for program in programs().iter().filter(|one| only.is_empty() || only.contains(&one.package)) {
        let found = program.explore(&limits);
        if let Found::Missing(why) = &found {
            missing.push(format!("{} ({why})", program.package));
            continue;
        }
        all += 1;
        works += u32::from(found.verdict() == Some(Expected::Passes));
        println!("{}", row(program, &found));
    }
    println!("\n{works} of {all} programs work");
    if !missing.is_empty() {
        println!("not run: {}", missing.join(", "));
    }
}

fn row(program: &Program, found: &Found) -> String {
    let (package, version) = (&program.package, program.version());
    let name = &program.words()[0];
    let is_expected = match found.verdict() == Some(program.expected) {
        true => "yes",
        false => "no",
    };
    match found {
        Found::Searched(report) => {
            let result = match found.verdict() {
                Some(Expected::Passes) if report.complete => "works, complete".to_owned(),
                Some(Expected::Passes) => "works".to_owned(),
                Some(Expected::Fails) => report
                    .bugs
                    .iter()
                    .map(|bug| bug.signature.clone())
                    .collect::<Vec<_>>()
                    .join("; "),
                _ => report.reason.replace('|', "/"),
            };
            let (executions, steps) = (report.executions, report.max_steps);
            let rate = (executions as f64 / report.elapsed_s.max(1e-9)) as u64;
            format!(
                "| {package} | {version} | {name} | {result} | {executions} | {rate} | {steps} | {is_expected} |"
            )
        }
        Found::Missing(why) | Found::Nothing(why) => {
            format!(
                "| {package} | {version} | {name} | {} | 0 | | | {is_expected} |",
                why.replace('|', "/")
            )
        }
    }
}

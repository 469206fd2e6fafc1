//! Runs programs of the system with a probe on every instruction that accesses memory, and prints
//! how many of the probes are jumps and whether the output is unchanged: `cargo run --release -p
//! tests --example probed_programs`. Programs that are not installed are skipped.

use std::process::Command;
use tests::heddle::Home;
use traces::report::Report;

/// Programs of several kinds, each with a short task: the name and the arguments.
const PROGRAMS: [&[&str]; 10] = [
    &["pigz", "-c", "-p", "1", "lines"],
    &["xz", "-c", "lines"],
    &["zstd", "-q", "-c", "--single-thread", "lines"],
    &["sort", "lines"],
    &["git", "--help"],
    &["bash", "-c", "for ((i = 0; i < 20; i++)); do echo $((i * i)); done"],
    &["/usr/bin/python3", "-I", "-S", "-c", "print(sum(i * i for i in range(100)))"],
    &["gdb", "--version"],
    &["rg", "--no-config", "-j1", "-N", "line 1", "lines"],
    &["perl", "-e", "print join ' ', map { $_ * $_ } 1 .. 20"],
];

fn share(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// The row of a program, or why it has none.
fn row(home: &Home, program: &[&str]) -> Result<String, String> {
    let native = Command::new(program[0]).args(&program[1..]).current_dir(home.path()).output();
    let native = native.map_err(|_| "not here".to_owned())?;
    let every = ["--points", "all", "--max-steps", "100000000"];
    let run = [&["run"], &every[..], &["--"], program].concat();
    let ours = home.command(run).output().map_err(|error| error.to_string())?;
    let one = ["explore", "--json", "--strategy", "random", "--max-executions", "1"];
    let explore = home.command([&one[..], &every, &["--"], program].concat()).output();
    let explore = explore.map_err(|error| error.to_string())?;
    let report: Report =
        serde_json::from_slice(&explore.stdout).map_err(|error| error.to_string())?;
    let points = report.points;
    let same = if ours.stdout == native.stdout { "the same" } else { "DIFFERS" };
    let jumps = share(points.jumps, points.probes);
    let code = share(points.covered, points.code);
    Ok(format!("{} | {jumps:.1} | {code:.1} | {same}", points.probes))
}

fn main() {
    let home = Home::new();
    let lines: String = (0..40).map(|n| format!("line {}\n", n * 7 % 40)).collect();
    std::fs::write(home.path().join("lines"), lines).expect("it can be written");
    println!("| program | probes | jumps, % | code decoded, % | output |");
    println!("| --- | --- | --- | --- | --- |");
    for program in PROGRAMS {
        let row = row(&home, program).unwrap_or_else(|why| format!("- | - | - | {why}"));
        println!("| {} | {row} |", program[0]);
    }
}

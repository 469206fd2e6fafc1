//! Runs ordinary multithreaded programs of the system under many schedules, and prints the result
//! of each: `cargo run --release -p tests --example ordinary_programs [EXECUTIONS [PROGRAM
//! [TIME]]]`. Every schedule must end like a run without Heddle, or the program is refused with a
//! reason; programs that are not installed are skipped. Programs that sync their files to disk are
//! faster if `TMPDIR` is in memory.

use std::collections::BTreeSet;
use std::process::Command;
use tests::heddle::Home;
use traces::report::{Report, Verdict};

/// The arguments of each program; `lines` is a text file, `many` one with more lines, `tree` a
/// directory of files. A program that writes a file in place of standard output names it `packed`.
const PROGRAMS: [&[&str]; 20] = [
    &["pigz", "-p", "2", "-b", "128", "-n", "-c", "lines"],
    &["pigz", "-p", "2", "-d", "-c", "lines.gz"],
    &["xz", "-T2", "--block-size=20000", "-0", "-c", "lines"],
    &["xz", "-T2", "-d", "-c", "lines.xz"],
    &["zstd", "-q", "-T2", "-1", "-c", "lines"],
    &["pbzip2", "-p2", "-b1", "-c", "-q", "lines"],
    &["lbzip2", "-n2", "-c", "lines"],
    &["plzip", "-n2", "-0", "-c", "lines"],
    &["pixz", "-p", "2", "-0", "-t", "-i", "lines", "-o", "/dev/stdout"],
    &["lrzip", "-N", "0", "-p", "2", "-Q", "-f", "-n", "-o", "packed", "lines"],
    &["tarlz", "-n2", "-0", "-cf", "packed", "tree"],
    &["sort", "--parallel=2", "many"],
    &["rg", "-j2", "--no-config", "--sort", "none", "line 1", "tree"],
    &["fdfind", "-j2", "file", "tree"],
    &["ag", "--workers", "2", "line 1", "tree"],
    &["ugrep", "-J2", "-r", "line 1", "tree"],
    &["b3sum", "--num-threads", "2", "lines"],
    &["md5deep", "-j2", "-r", "tree"],
    &["samtools", "view", "-@", "2", "reads.sam"],
    &[
        "mksquashfs",
        "tree",
        "packed",
        "-processors",
        "2",
        "-no-progress",
        "-quiet",
        "-noappend",
        "-all-time",
        "0",
        "-mkfs-time",
        "0",
        "-no-fragments",
    ],
];

/// The result of a run: its output, with sorted lines, because their order depends on the schedule;
/// and the file that it wrote.
fn result(home: &Home, output: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = output.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.sort_unstable();
    let path = home.path().join("packed");
    let packed = std::fs::read(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    (lines, packed)
}

/// Whether all random runs have the result of a run without Heddle, and the number of distinct
/// orders.
fn compare(home: &Home, program: &[&str], native: &(Vec<Vec<u8>>, Vec<u8>)) -> String {
    const RUNS: usize = 20;
    let (mut same, mut others) = (0, BTreeSet::new());
    for seed in 0..RUNS {
        let seed = seed.to_string();
        let run = ["run", "--strategy", "random", "--seed", &seed, "--max-steps", "10000000", "--"];
        let Ok(ours) = home.command([&run[..], program].concat()).output() else { continue };
        let ours = result(home, &ours.stdout);
        match ours == *native {
            true => same += 1,
            false => _ = others.insert(ours),
        }
    }
    match others.len() {
        0 => format!("all {RUNS} compared runs as without Heddle"),
        others => format!("{same} of {RUNS} as without Heddle, {others} others"),
    }
}

/// The row of a program, or why it has none.
fn row(home: &Home, program: &[&str], executions: &str, time: &str) -> Result<String, String> {
    let native = Command::new(program[0]).args(&program[1..]).current_dir(home.path()).output();
    let native = native.map_err(|_| "not installed".to_owned())?;
    if !native.status.success() {
        return Err(format!("without Heddle: {}", String::from_utf8_lossy(&native.stderr).trim()));
    }
    let native = result(home, &native.stdout);
    let limits = ["--max-executions", executions, "--max-steps", "10000000", "--max-time", time];
    let search = ["explore", "--json", "--strategy", "random", "--workers", "1"];
    let explore = [&search[..], &limits, &["--"], program].concat();
    let explore = home.command(explore).output().map_err(|error| error.to_string())?;
    let report: Report = serde_json::from_slice(&explore.stdout)
        .map_err(|_| String::from_utf8_lossy(&explore.stderr).trim().to_owned())?;
    let what = match report.verdict {
        Verdict::Bug => report.bugs.iter().map(|bug| bug.signature.clone()).collect(),
        Verdict::Unsupported | Verdict::Error => report.reason.clone(),
        Verdict::Clean | Verdict::Incomplete | Verdict::Satisfied => {
            compare(home, program, &native)
        }
    };
    let Report { executions, learning, threads, max_steps, points, elapsed_s, distinct, .. } =
        report;
    let (racy, probes) = (points.racy, points.probes);
    Ok(format!(
        "{executions} | {distinct} | {learning} | {threads} | {max_steps} | {racy} of {probes} | {elapsed_s:.1} | {what}"
    ))
}

/// Creates the input files.
fn prepare(home: &Home) -> std::io::Result<()> {
    let lines: String = (0..6000).map(|n| format!("line {}\n", n * 7919 % 6007)).collect();
    let at = |name: &str| home.path().join(name);
    std::fs::write(at("lines"), &lines)?;
    // Below 128 k lines `sort` creates no thread. Its tasks have an unordered access (`*node->dest
    // = dest` under the wrong lock) and synchronize at each merged line: short lines mean fewer
    // steps.
    std::fs::write(at("many"), "\n".repeat(131_100))?;
    std::fs::create_dir(at("tree"))?;
    for number in 0..4 {
        std::fs::write(at(&format!("tree/file{number}")), &lines[..2000 + number * 100])?;
    }
    let read = |n: u32| format!("r{n}\t4\t*\t0\t255\t*\t*\t0\t0\tACGTACGT\tIIIIIIII\n");
    std::fs::write(at("reads.sam"), (0..200).map(read).collect::<String>())?;
    // With a single block there would be no work for a second thread.
    let packers: [(&str, &[&str]); 2] =
        [("gzip", &["-c"]), ("xz", &["-c", "-T2", "--block-size=20000"])];
    for ((program, args), to) in packers.into_iter().zip(["lines.gz", "lines.xz"]) {
        let packed =
            Command::new(program).args(args).arg("lines").current_dir(home.path()).output()?;
        std::fs::write(at(to), packed.stdout)?;
    }
    Ok(())
}

fn main() {
    let mut args = std::env::args().skip(1);
    let executions = args.next().unwrap_or_else(|| "10000".to_owned());
    let only = args.next().filter(|only| only != "all");
    let time = args.next().unwrap_or_else(|| "60s".to_owned());
    let home = Home::new();
    prepare(&home).expect("the home can be written to");
    println!(
        "| program | executions | distinct | learning | tasks | steps | points of probes | s | outcome |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let wanted = |program: &&&[&str]| only.as_ref().is_none_or(|only| program[0] == only);
    for program in PROGRAMS.iter().filter(wanted) {
        let row = row(&home, program, &executions, &time);
        let row = row.unwrap_or_else(|why| format!("- | - | - | - | - | - | - | {why}"));
        println!("| {} | {row} |", program.join(" "));
    }
}

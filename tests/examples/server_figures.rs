//! Prints how many executions a second servers of Debian packages allow: with their recorded clients, from
//! main and from the first point at which the server waits for a client, and with live clients: `cargo run
//! --release -p tests --example server_figures -- [TIME]`. The servers are those of
//! `tests/corpus/programs.toml`.

use tests::programs::{Found, Program, programs};

/// The rate, and the steps of the longest execution.
fn measure(server: &Program, time: &str, options: &[&str]) -> Result<(f64, u64), String> {
    let limits = ["--max-time", time, "--strategy", "random", "--points", "api"];
    match server.explore(&[&limits, options].concat()) {
        Found::Searched(report) if report.executions > 0 => {
            Ok((report.executions as f64 / report.elapsed_s.max(1e-9), report.max_steps))
        }
        Found::Searched(report) => Err(report.reason),
        Found::Missing(why) | Found::Nothing(why) => Err(why),
    }
}

fn main() {
    let time = std::env::args().nth(1).unwrap_or_else(|| "20s".to_owned());
    println!(
        "| server | version | steps | from main, executions a second | from idle | live clients |"
    );
    println!("| --- | --- | --: | --: | --: | --: |");
    let mut missing = Vec::new();
    for server in programs().iter().filter(|program| !program.clients.is_empty()) {
        let name = &server.package;
        let rates = measure(server, &time, &[]).and_then(|main| {
            let idle = measure(server, &time, &["--begin-at", "idle"])?;
            Ok((main, idle, measure(server, &time, &["--live-clients"])?))
        });
        match rates {
            Ok(((main, steps), (idle, _), (live, _))) => {
                let version = server.version();
                println!("| {name} | {version} | {steps} | {main:.0} | {idle:.0} | {live:.0} |");
            }
            Err(why) => missing.push(format!("{name} ({why})")),
        }
    }
    if !missing.is_empty() {
        println!("\nnot measured: {}", missing.join(", "));
    }
}

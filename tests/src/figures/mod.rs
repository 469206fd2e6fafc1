//! One command for every table of `docs/figures.md`, and for what is asked of the figures.
//!
//! Each table is printed by its own example; this runs them one after another, reads what they
//! print, and compares it with the goals.

pub mod calibration;
pub mod goals;
pub mod list;
pub mod machine;
pub mod markdown;
pub mod measure;
pub mod process;

use goals::{GOALS, Measured, Verdict};
use list::{Source, TABLES, Table};
use process::Lack;
use std::collections::BTreeMap;
use std::io::{self, Write};

const USAGE: &str = "usage: figures [--list] [--quick] [TABLE...]";

/// Runs the tables of these names, or all, and returns the exit status: 1 if an example failed, 2
/// if there is no such table.
///
/// # Errors
/// Only if the output cannot be written.
pub fn run(args: &[String], out: &mut dyn Write, errors: &mut dyn Write) -> io::Result<i32> {
    let (mut quick, mut lists, mut chosen) = (false, false, Vec::new());
    for arg in args {
        match (arg.as_str(), list::named(arg)) {
            ("--quick", _) => quick = true,
            ("--list", _) => lists = true,
            (option, _) if option.starts_with('-') => {
                writeln!(errors, "no option {option}; {USAGE}")?;
                return Ok(2);
            }
            (_, Some(table)) => chosen.push(table),
            (name, None) => {
                writeln!(errors, "no table {name:?}; --list prints their names")?;
                return Ok(2);
            }
        }
    }
    if lists {
        print_list(out)?;
        return Ok(0);
    }
    if chosen.is_empty() {
        chosen = TABLES.iter().collect();
    }
    write!(out, "{}", machine::description())?;
    let mut measured = BTreeMap::new();
    let mut failed = false;
    for table in chosen {
        let printed = print_table(table, quick, out)?;
        failed |= matches!(printed, Err(Lack::Failed(_)));
        let printed: Measured = match printed {
            Ok(text) => Ok(markdown::tables(&text)),
            Err(Lack::Absent(why) | Lack::Failed(why)) => Err(why),
        };
        measured.insert(table.name, printed);
    }
    print_goals(&measured, quick, out)?;
    Ok(i32::from(failed))
}

fn print_list(out: &mut dyn Write) -> io::Result<()> {
    for table in TABLES {
        let what = match table.source {
            Source::Nothing(why) => format!("no command prints it: {why}"),
            Source::Example(name) => format!("example {name}"),
            Source::Speed => "tests/speed".to_owned(),
        };
        writeln!(out, "{:<18} {} ({what})", table.name, table.heading)?;
    }
    Ok(())
}

fn print_table(
    table: &Table,
    quick: bool,
    out: &mut dyn Write,
) -> io::Result<Result<String, Lack>> {
    writeln!(out, "\n## {}: {}\n", table.heading, table.name)?;
    out.flush()?;
    let printed = process::print(table, quick);
    match &printed {
        Ok(text) => writeln!(out, "{}\n\nLoad after it: {}", text.trim(), machine::load())?,
        Err(Lack::Absent(why)) => writeln!(out, "Not measured: {why}")?,
        Err(Lack::Failed(how)) => writeln!(out, "Failed: {how}")?,
    }
    out.flush()?;
    Ok(printed)
}

fn print_goals(
    measured: &BTreeMap<&str, Measured>,
    quick: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "\n## Goals\n")?;
    if quick {
        writeln!(out, "Measured with --quick: too short for a verdict.\n")?;
    }
    writeln!(out, "| row | compared with | measured | asked | |\n| --- | --- | --: | --: | --- |")?;
    let mut goals: Vec<_> = GOALS.iter().map(|goal| (goal, measured.get(goal.table))).collect();
    // Those below the goal first, then what is not known.
    goals.sort_by_key(|(goal, measured)| match goal.judge(*measured).2 {
        Verdict::Below => 0,
        Verdict::NotMeasured(_) => 1,
        Verdict::Met => 2,
    });
    for (goal, measured) in goals {
        writeln!(out, "{}", goal.row(measured))?;
    }
    Ok(())
}

//! Multithreaded programs of Debian packages (`tests/corpus/programs.toml`): the files that they work
//! on, and a search of each.

use crate::heddle::{Home, run};
use crate::installed::is_installed_in;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use traces::report::{Report, Verdict};

/// A program of a package.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The Debian package.
    pub package: String,
    /// The command line, with arguments in single quotes where they contain spaces.
    pub command: String,
    /// The clients of a server, which has no end without them.
    #[serde(default)]
    pub clients: Vec<String>,
    /// What a search says.
    pub expected: Expected,
    /// Why a program does not pass.
    pub because: Option<String>,
    /// Whether the tests search it.
    #[serde(default)]
    pub brief: bool,
}

/// Where packages install their programs: another version may be installed elsewhere.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/games";

/// How long a search of a program may take.
const BOUND: Duration = Duration::from_secs(600);

/// A command that runs a program natively.
fn natively(words: &[String], home: &Home) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(home.path()).stdin(Stdio::null()).env("PATH", PATH);
    command
}

/// A command of Heddle about such a program.
fn controlled<'a>(home: &Home, args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = home.command(args);
    command.env("PATH", PATH);
    command
}

/// What a search of a program says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// There are executions, and none fails.
    Passes,
    /// An execution fails, as it can without Heddle.
    Fails,
    /// The program cannot be controlled, and the reason is given.
    Refused,
}

/// The result of a search.
#[derive(Debug)]
pub enum Found {
    /// The report of the search.
    Searched(Box<Report>),
    /// The program is not installed, or does not work natively on these files.
    Missing(String),
    /// The command gave no report.
    Nothing(String),
}

impl Found {
    /// What the search says, if it says something.
    #[must_use]
    pub fn verdict(&self) -> Option<Expected> {
        let Found::Searched(report) = self else { return None };
        match report.verdict {
            Verdict::Bug => Some(Expected::Fails),
            Verdict::Unsupported | Verdict::Error => Some(Expected::Refused),
            Verdict::Clean | Verdict::Incomplete | Verdict::Satisfied => {
                (report.executions > 0).then_some(Expected::Passes)
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    program: Vec<Program>,
}

/// The programs of the manifest.
///
/// # Panics
/// If the manifest is malformed.
#[must_use]
pub fn programs() -> Vec<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/programs.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let manifest: Manifest = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    manifest.program
}

impl Program {
    /// The words of the command line.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in self.command.split('\'').enumerate() {
            match index % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    /// The installed version of the package; `-` if dpkg knows none.
    #[must_use]
    pub fn version(&self) -> String {
        let query = ["-W", "-f", "${Version}", self.package.as_str()];
        let output = Command::new("dpkg-query").args(query).stderr(Stdio::null()).output();
        let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        version.ok().filter(|version| !version.is_empty()).unwrap_or_else(|| "-".to_owned())
    }

    /// Why the program cannot be searched here, if it cannot: it or a client is not installed, or it fails
    /// natively on these files. A server is not run natively, since it has no end.
    fn missing(&self) -> Option<String> {
        let words = self.words();
        let first = |command: &str| command.split_whitespace().next().map(str::to_owned);
        let mut commands =
            self.clients.iter().filter_map(|client| first(client)).chain([words[0].clone()]);
        if let Some(name) = commands.find(|name| !is_installed_in(PATH.as_ref(), name)) {
            return Some(format!("{name} is not installed"));
        }
        if !self.clients.is_empty() {
            return None;
        }
        let home = Home::new();
        make_files(home.path()).expect("the files are made");
        match natively(&words, &home).output() {
            Err(error) => Some(format!("cannot be run: {error}")),
            Ok(output) if !output.status.success() => {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Some(format!("fails natively: {said}"))
            }
            Ok(_) => None,
        }
    }

    /// Searches the program with the default options, but for these limits, in a separate directory.
    ///
    /// # Panics
    /// If the files cannot be made.
    #[must_use]
    pub fn explore(&self, limits: &[&str]) -> Found {
        if let Some(why) = self.missing() {
            return Found::Missing(why);
        }
        let words = self.words();
        let home = Home::new();
        make_files(home.path()).expect("the files are made");
        let mut command = vec!["explore", "--json", "--workers", "1"];
        command.extend(limits);
        command.extend(self.clients.iter().flat_map(|client| ["--client", client.as_str()]));
        command.push("--");
        command.extend(words.iter().map(String::as_str));
        let run = run(controlled(&home, command), BOUND);
        match serde_json::from_str(&run.stdout) {
            Ok(report) => Found::Searched(Box::new(report)),
            Err(_) => Found::Nothing(run.stderr.trim().to_owned()),
        }
    }
}

/// How a program runs natively and under `heddle run`, on the same files.
#[derive(Debug)]
pub struct Compared {
    /// How long it takes natively.
    pub native: Duration,
    /// How long `heddle run` takes, where Heddle was used before.
    pub under_run: Duration,
    /// How long a search of one execution takes, with the usual input.
    pub first: Option<Duration>,
    /// What differs in its output or in the files that it makes; empty if nothing does.
    pub differs: String,
}

/// How many times as long the longer input is.
pub const LONGER: usize = 250;

/// The fastest of three runs of a command in new directories, and what the last one printed and left. `longer`:
/// how many times the file `lines` is repeated.
fn fastest(
    longer: usize,
    command: impl Fn(&Home) -> Command,
) -> Result<(Duration, Output, Home), String> {
    let mut fastest = Duration::MAX;
    let mut last = None;
    for _ in 0..3 {
        let home = Home::new();
        make_files(home.path()).expect("the files are made");
        let lines = home.path().join("lines");
        let once = fs::read(&lines).expect("the file was made");
        fs::write(&lines, once.repeat(longer)).expect("it can be written");
        // The first use of Heddle installs its runtime.
        home.command(["run", "--", "true"]).output().map_err(|error| format!("{error}"))?;
        let (mut command, began) = (command(&home), Instant::now());
        let output = command.output().map_err(|error| format!("cannot be run: {error}"))?;
        fastest = fastest.min(began.elapsed());
        last = Some((output, home));
    }
    let (output, home) = last.expect("it ran");
    Ok((fastest, output, home))
}

/// The files in a directory, by name, without those of Heddle.
fn files_in(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(directory.join(&at)).into_iter().flatten().flatten() {
            let name = at.join(entry.file_name());
            match fs::metadata(entry.path()) {
                Ok(kind) if kind.is_dir() => open.push(name),
                Ok(_) => drop(found.insert(name, fs::read(entry.path()).unwrap_or_default())),
                Err(_) => {}
            }
        }
    }
    found.retain(|name, _| {
        !["heddle-out", "state", "cache"].iter().any(|own| name.starts_with(own))
    });
    found
}

impl Program {
    /// Whether the program reads the file that can be longer.
    #[must_use]
    pub fn reads_lines(&self) -> bool {
        self.words().iter().any(|word| word == "lines")
    }

    /// Runs the program natively and by `heddle run` with the default options. `longer`: how many times the
    /// file `lines` is repeated.
    ///
    /// # Errors
    /// If it cannot be run here.
    ///
    /// # Panics
    /// If the files cannot be made.
    pub fn compare(&self, longer: usize) -> Result<Compared, String> {
        if let Some(why) = self.missing() {
            return Err(why);
        }
        let words = self.words();
        let (native, output, home) = fastest(longer, |home| natively(&words, home))?;
        let with = |home: &Home, options: &[&'static str]| {
            controlled(home, options.iter().copied().chain(words.iter().map(String::as_str)))
        };
        let (under_run, printed, other) = fastest(longer, |home| with(home, &["run", "--"]))?;
        let search = |home: &Home| with(home, &["explore", "--max-executions", "1", "--"]);
        // With the longer input it takes minutes.
        let first = if longer == 1 { Some(fastest(longer, search)?.0) } else { None };
        let (before, after) = (files_in(home.path()), files_in(other.path()));
        let changed = before.iter().filter(|(name, content)| after.get(*name) != Some(content));
        let mut differs: Vec<_> = changed.map(|(name, _)| name.display().to_string()).collect();
        if output.stdout != printed.stdout {
            differs.push("what it prints".to_owned());
        }
        if printed.status.code() != output.status.code() {
            differs.push(String::from_utf8_lossy(&printed.stderr).trim().to_owned());
        }
        Ok(Compared { native, under_run, first, differs: differs.join(", ") })
    }
}

/// A sequence of numbers that differ, the same each time.
fn numbers() -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1_u32), |last| {
        Some(last.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
    })
    .map(|number| number >> 16)
}

fn bases(skip: usize, length: usize) -> String {
    numbers().skip(skip).take(length).map(|number| b"ACGT"[number as usize % 4] as char).collect()
}

/// A server with one process, whose threads read the files.
const NGINX: &str = "daemon off; master_process off; pid nginx.pid; user root; events { }
http { access_log off; server { listen unix:nginx.sock; root .; aio threads; directio 1; } }
";

/// The files that the commands read.
fn make_files(directory: &Path) -> io::Result<()> {
    let at = |name: &str| directory.join(name);
    let lines: String = (0..6000).map(|n| format!("line {}\n", n * 7919 % 6007)).collect();
    fs::write(at("lines"), &lines)?;
    // Below 128 k lines `sort` creates no thread; short lines mean fewer steps.
    fs::write(at("many"), "\n".repeat(131_100))?;
    fs::create_dir(at("tree"))?;
    for number in 0..4 {
        fs::write(at(&format!("tree/file{number}")), &lines[..2000 + number * 100])?;
    }
    let each = |form: &dyn Fn(usize, &str) -> String| -> String {
        (0..8).map(|n| form(n, &bases(n / 2 * 40, 200))).collect()
    };
    fs::write(at("reads.fa"), each(&|n, read| format!(">r{n}\n{read}\n")))?;
    fs::write(at("aligned.fa"), each(&|n, read| format!(">r{n}\n{read}\n")))?;
    let counted = |n: usize| format!(">r{n}_1\n{}\n", bases(n * 40, 100));
    fs::write(at("counted.fa"), (0..8).map(counted).collect::<String>())?;
    let quality = "I".repeat(200);
    fs::write(at("reads.fq"), each(&|n, read| format!("@r{n}\n{read}\n+\n{quality}\n")))?;
    let read = |n: u32| format!("r{n}\t4\t*\t0\t255\t*\t*\t0\t0\tACGTACGT\tIIIIIIII\n");
    fs::write(at("reads.sam"), (0..200).map(read).collect::<String>())?;
    let header =
        "##fileformat=VCFv4.2\n##contig=<ID=1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
    let call = |n: u32| format!("1\t{}\t.\tA\tC\t.\t.\t.\n", n + 1);
    fs::write(at("calls.vcf"), header.to_owned() + &(0..50).map(call).collect::<String>())?;
    let picture: Vec<u8> = numbers().take(64 * 64 * 3).map(|number| number as u8).collect();
    fs::write(at("picture.ppm"), [b"P6\n64 64\n255\n".as_slice(), &picture].concat())?;
    fs::write(at("video.yuv"), picture.repeat(2))?;
    let convert = |to: &str, program: &str, args: &[&str]| {
        // A command whose input cannot be made fails natively, too, and is skipped.
        let made = Command::new(program).args(args).arg(at(to)).current_dir(directory).output();
        drop(made);
    };
    fs::write(at("nginx.conf"), NGINX)?;
    convert("picture.png", "gm", &["convert", "picture.ppm"]);
    fs::write(at("main.c"), "int main(void) { return 0; }\n")?;
    convert("object.o", "cc", &["-c", "main.c", "-o"]);
    Ok(())
}

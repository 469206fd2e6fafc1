//! Of small programs as people write them, with no race and no failure, hardly any loses the answer `clean` because a
//! call is not known.

use serde::Deserialize;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use tests::heddle::Home;
use tests::parallel::check_all;
use traces::report::Verdict;

/// The most programs, of fifty, whose search is not complete.
const LOST: usize = 3;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    program: Vec<Program>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    #[serde(default)]
    cpp: bool,
    #[serde(default)]
    globals: String,
    body: String,
}

const C_HEADERS: &[&str] = &[
    "arpa/inet.h",
    "dirent.h",
    "errno.h",
    "fcntl.h",
    "math.h",
    "pthread.h",
    "regex.h",
    "semaphore.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "sys/stat.h",
    "syslog.h",
    "time.h",
    "unistd.h",
];
const CPP_HEADERS: &[&str] = &[
    "atomic",
    "functional",
    "iostream",
    "map",
    "memory",
    "mutex",
    "sstream",
    "stdexcept",
    "string",
    "unordered_map",
    "vector",
];

fn source(program: &Program) -> String {
    let more: &[&str] = if program.cpp { CPP_HEADERS } else { &[] };
    let headers: String =
        C_HEADERS.iter().chain(more).map(|header| format!("#include <{header}>\n")).collect();
    let mutex = if program.cpp { "static std::mutex mm;\n" } else { "" };
    let Program { globals, body, .. } = program;
    format!(
        "#define _GNU_SOURCE\n{headers}{mutex}\
         static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         #define L pthread_mutex_lock(&m)\n#define U pthread_mutex_unlock(&m)\n\
         {globals}\nstatic void work(int w) {{ {body} }}\n\
         static void *worker(void *u) {{ work(1); return u; }}\n\
         int main(void) {{\n    pthread_t a;\n    pthread_create(&a, 0, worker, 0);\n    work(0);\n    \
         return pthread_join(a, 0);\n}}\n"
    )
}

/// What the search of a program says, if that is not `clean`.
fn answer(program: &Program) -> Option<(Verdict, String)> {
    let home = Home::new();
    let (compiler, extension) = if program.cpp { ("g++", "cpp") } else { ("gcc", "c") };
    let file = home.path().join(format!("program.{extension}"));
    std::fs::write(&file, source(program)).expect("written");
    let built = home.path().join(&program.name);
    let output = Command::new(compiler)
        .args(["-g", "-O1", "-w", "-pthread", "-o"])
        .args([&built, &file])
        .arg("-lm")
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = home.path().join("files");
    std::fs::create_dir_all(&files).expect("a directory");
    let built = built.to_string_lossy();
    let mut command = home.command(["explore", "--json", "--workers", "1"]);
    command.args(["--max-executions", "30000", "--", &built]).current_dir(&files);
    let output = command.output().expect("heddle starts");
    let report: traces::report::Report = serde_json::from_slice(&output.stdout).expect("a report");
    let (verdict, reason) = (report.verdict, report.reason);
    (verdict != Verdict::Clean).then(|| (verdict, format!("{reason} {:?}", report.notes)))
}

#[test]
fn hardly_any_ordinary_program_loses_its_clean() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ordinary/programs.toml");
    let table: Table =
        toml::from_str(&std::fs::read_to_string(path).expect("the table")).expect("valid");
    let lost = Mutex::new(Vec::new());
    check_all(&table.program, |program| {
        let (verdict, why) = answer(program)?;
        let line = format!("{}: {verdict:?}: {why}", program.name);
        if verdict != Verdict::Incomplete {
            return Some(line);
        }
        lost.lock().expect("no thread panics with the lock").push(line);
        None
    });
    let lost = lost.into_inner().expect("no thread panicked");
    assert!(table.program.len() >= 50 && lost.len() <= LOST, "{}", lost.join("\n"));
}

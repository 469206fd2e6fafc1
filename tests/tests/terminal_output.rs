//! What a program or a trace names and prints does not act on the terminal of the one who looks at it:
//! whatever the command, its text and its JSON contain no control character and none that reorders text.

use serde_json::json;
use std::ffi::OsStr;
use std::fs::File;
use std::path::PathBuf;
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, build};

/// In the names of the directory, the program, its arguments and variables.
const EVIL: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\r\u{85}\u{9b}\u{202e}\u{2066}\u{7f}";

/// Whether a terminal acts on it, or shows the text around it in another order.
fn acts(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn check(what: &str, text: &str) {
    if let Some((at, found)) = text.char_indices().find(|&(_, c)| acts(c)) {
        let around: String = text[..at].chars().rev().take(60).collect();
        let before: String = around.chars().rev().collect();
        panic!("{what} prints {found:?} after {before:?}");
    }
}

struct Workshop {
    home: Home,
    directory: PathBuf,
    commands: usize,
}

impl Workshop {
    fn new() -> Workshop {
        let home = Home::new();
        let directory = home.path().join(EVIL);
        std::fs::create_dir(&directory).expect("a name of a file has any bytes");
        build(&home, "prints_controls", &format!("{EVIL}/{EVIL}"), &[]);
        Workshop { home, directory, commands: 0 }
    }

    /// Runs a command, and checks what it prints.
    fn heddle<S: AsRef<OsStr>>(&mut self, args: &[S]) -> Run {
        let mut command = self.home.command(args);
        command.current_dir(&self.directory).env("EVIL", EVIL);
        for name in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
            command.env(name, self.directory.join(name));
        }
        let ran = run(command, BOUND);
        let words: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        check(&format!("{words:?}"), &ran.stdout);
        check(&format!("{words:?} to standard error"), &ran.stderr);
        self.commands += 1;
        ran
    }
}

#[test]
fn no_command_prints_what_acts_on_a_terminal() {
    let mut shop = Workshop::new();
    let program = format!("./{EVIL}");
    let out = format!("out{EVIL}");
    let search = ["explore", "--json", "--out", &out, "--", &program, EVIL];
    let found = shop.heddle(&search);
    assert_eq!(found.status, 1, "{found:?}");
    let trace = found.report().bugs[0].trace.clone().expect("a trace");
    // The report names the file as it is.
    assert!(shop.directory.join(&trace).exists(), "{trace:?}");
    let copy = format!("trace{EVIL}.heddle");
    std::fs::copy(shop.directory.join(&trace), shop.directory.join(&copy)).expect("a copy");
    let trace = copy.as_str();
    shop.heddle(&["explore", "--out", &out, "--", &program, EVIL]);
    let views: [&[&str]; 18] = [
        &["show"],
        &["show", "--json"],
        &["show", "--list"],
        &["show", "--environment"],
        &["show", "--output"],
        &["show", "--at", "end"],
        &["export", "--format", "json"],
        &["export", "--format", "chrome"],
        &["export", "--format", "dot"],
        &["export", "--format", "shiviz"],
        &["export", "--format", "svg"],
        &["explain"],
        &["explain", "--json"],
        &["replay"],
        &["replay", "--json"],
        &["bisect"],
        &["bisect", "--json"],
        &["shrink", "--json", "-o", "small.heddle"],
    ];
    for view in views {
        let ran = shop.heddle(&[view, &[trace]].concat());
        assert!(matches!(ran.status, 0 | 1), "{view:?}: {ran:?}");
    }
    shop.heddle(&["diff", trace, "small.heddle"]);
    shop.heddle(&["run", "--json", "--", &program, EVIL]);
    shop.heddle(&["test", "--json", &program]);
    shop.heddle(&["test", &program]);
    for name in ["doctor", "config", "clean"] {
        shop.heddle(&[name]);
    }
    shop.heddle(&["doctor", "--json"]);
    shop.heddle(&["config", "--paths"]);
    std::fs::write(shop.directory.join("heddle.toml"), format!("{EVIL} = \"{EVIL}\"\n"))
        .expect("written");
    assert_eq!(shop.heddle(&["config"]).status, 2);
    assert_eq!(shop.heddle(&["explore", "--json", "--", &program]).status, 2);
    std::fs::remove_file(shop.directory.join("heddle.toml")).expect("there");
    // What is wrong is shown, too.
    for wrong in [
        &["show", EVIL][..],
        &["explore", "--json", "--", EVIL],
        &["explore", "--strategy", EVIL, "--", &program],
        &["explore", "--when", EVIL, "--", &program],
        &["explore", "--atomic", &format!("no{EVIL}"), "--", &program],
        &[EVIL],
    ] {
        let ran = shop.heddle(wrong);
        assert!(matches!(ran.status, 2 | 3), "{wrong:?}: {ran:?}");
    }
    let junit = format!("{EVIL}.xml");
    shop.heddle(&["explore", "--junit", &junit, "--out", &out, "--", &program, EVIL]);
    let written = std::fs::read_to_string(shop.directory.join(junit)).expect("written");
    check("the file of --junit", &written);
    println!("{} commands", shop.commands);
}

/// The servers' answers are lines of JSON.
#[test]
fn no_answer_of_a_server_has_what_acts_on_a_terminal() {
    let shop = Workshop::new();
    let program = format!("./{EVIL}/{EVIL}");
    let mut requests = vec![
        ("open_program", json!({ "command": [program, EVIL] })),
        ("search", json!({ "executions": 500 })),
        ("show_failure", json!({ "number": 1 })),
        ("open_trace", json!({ "path": EVIL })),
        ("variables", json!({ "expressions": [EVIL] })),
        (EVIL, json!({ EVIL: EVIL })),
    ];
    let views = ["tasks", "steps", "locks", "source", "backtrace", "output", "explain", "status"];
    requests.extend(views.map(|view| (view, json!({}))));
    for mode in [&["serve"][..], &["serve", "--mcp"]] {
        let lines = requests.iter().map(|(method, params)| {
            let (method, params) = match mode.len() {
                1 => (*method, params.clone()),
                _ => ("tools/call", json!({ "name": method, "arguments": params })),
            };
            json!({ "jsonrpc": "2.0", "id": EVIL, "method": method, "params": params }).to_string()
        });
        let lines: Vec<String> = lines.collect();
        std::fs::write(shop.home.path().join("requests"), lines.join("\n")).expect("written");
        let mut command = shop.home.command(mode);
        command.stdin(File::open(shop.home.path().join("requests")).expect("there"));
        let ran = run(command, BOUND);
        check(&format!("{mode:?}"), &ran.stdout);
        check(&format!("{mode:?} to standard error"), &ran.stderr);
        let is_answer = |line: &&str| line.contains("\"result\":") || line.contains("\"error\":{");
        let answers = ran.stdout.lines().filter(is_answer);
        assert_eq!(answers.count(), requests.len(), "{ran:?}");
        // The names were there.
        assert!(ran.stdout.contains(r"\u202e"), "{ran:?}");
    }
}

/// The gate for text is in one place, also for what no report cleaned.
#[test]
fn a_directory_in_a_message_is_shown_escaped() {
    let mut shop = Workshop::new();
    let ran = shop.heddle(&["config", "--paths"]);
    let shown = ran.stdout.lines().next().expect("a line");
    assert!(shown.contains(r"\u{1b}]0;x\u{7}"), "{shown}");
}

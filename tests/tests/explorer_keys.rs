//! Random keys and mouse events at random sizes, over a live program whose processes are killed: the screen
//! stays intact, and no process or file is left behind. A few thousand keys; `HEDDLE_KEYS=1000000` sets
//! the number, `HEDDLE_SEED` the seed.

use explorer_ui::tui::keys::actions::{ACTIONS, Action};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tests::heddle::Home;
use tests::terminal::{Terminal, target};

/// Actions that leave the explorer, stop it, open another program, or write files.
const NOT: [Action; 9] = [
    Action::Quit,
    Action::Suspend,
    Action::Debugger,
    Action::Lldb,
    Action::Split,
    Action::Save,
    Action::SaveScreen,
    Action::Record,
    // The list of actions could start each of these.
    Action::Palette,
];

/// Input that is not bound to an action, as a terminal sends it: answers to queries, the mouse.
const MORE: [&str; 6] = [
    "\r",
    "\x1b[<0;20;9M",
    "\x1b[<32;30;12M",
    "\x1b[<0;30;12m",
    "\x1b[<0;60;16M\x1b[<32;62;14M\x1b[<0;62;14m",
    "\x1b[<65;9;9M",
];

/// Actions that write to the clipboard.
const COPIES: [Action; 3] = [Action::Copy, Action::CopySchedule, Action::CopyPane];

/// All other keys, as a terminal sends them. (A lone escape would wait for more.)
fn all_keys(but: &[Action]) -> Vec<String> {
    let not = |one: &Action| NOT.contains(one) || but.contains(one);
    let actions = ACTIONS.iter().filter(|one| !not(&one.action));
    let keys = actions.flat_map(|one| one.keys.iter()).filter(|key| **key != "esc");
    let mut keys: Vec<String> = keys.map(|key| bytes(key)).collect();
    keys.extend(MORE.map(str::to_owned));
    keys
}

fn bytes(key: &str) -> String {
    let named = match key {
        "down" => "\x1b[B",
        "up" => "\x1b[A",
        "right" => "\x1b[C",
        "left" => "\x1b[D",
        "home" => "\x1b[H",
        "end" => "\x1b[F",
        "pageup" => "\x1b[5~",
        "pagedown" => "\x1b[6~",
        "space" => " ",
        "tab" => "\t",
        "backtab" => "\x1b[Z",
        "backspace" => "\x7f",
        "f1" => "\x1bOP",
        "f5" => "\x1b[15~",
        "f9" => "\x1b[20~",
        "f10" => "\x1b[21~",
        "f11" => "\x1b[23~",
        "alt-right" => "\x1b[1;3C",
        "alt-left" => "\x1b[1;3D",
        "alt-down" => "\x1b[1;3B",
        "alt-up" => "\x1b[1;3A",
        _ => match key.split_once('-') {
            Some(("ctrl", letter)) => return char::from(letter.as_bytes()[0] & 0x1f).to_string(),
            Some(("alt", letter)) => return format!("\x1b{letter}"),
            _ => key,
        },
    };
    named.to_owned()
}

/// A xorshift generator.
fn next(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 16) as usize
}

#[test]
fn random_keys_and_sizes_leave_the_explorer_intact() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let wanted = number("HEDDLE_KEYS").unwrap_or(3_000) as usize;
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (120, 40));
    terminal.wait_for("next to run");
    let known = all_keys(&[]);
    let mut seed = number("HEDDLE_SEED").unwrap_or(0x9e37_79b9_7f4a_7c15_u64);
    let pid = terminal.child.process_id().expect("it runs");
    let batches = wanted / 50;
    let (mut memory, mut killed) = (0, 0);
    for batch in 0..batches {
        if batch == batches / 3 {
            memory = resident(pid);
        }
        let keys: String = (0..50).map(|_| known[next(&mut seed) % known.len()].as_str()).collect();
        terminal.press(&keys);
        if batch % 4 == 3 {
            let size = [next(&mut seed) % 500 + 1, next(&mut seed) % 200 + 1];
            let (cols, rows) = (size[0] as u16, size[1] as u16);
            terminal.resize(cols, rows);
        }
        if batch % 8 == 5 {
            // A process of the program dies: of a search, of the shown schedule, or of an inspection.
            let programs = programs_of_session(pid);
            if !programs.is_empty() {
                let victim = programs[next(&mut seed) % programs.len()];
                // It may have ended already.
                killed += u32::from(kill(Pid::from_raw(victim), Signal::SIGKILL).is_ok());
            }
        }
        terminal.drain();
        if let Ok(Some(status)) = terminal.child.try_wait() {
            panic!("it ended in batch {batch}: {status:?}\n{}", terminal.screen());
        }
    }
    println!("{} keys, {killed} processes killed", batches * 50);
    terminal.resize(120, 40);
    // Closes all windows, and redraws the screen.
    terminal.press("\x1b");
    terminal.drain();
    for _ in 0..3 {
        terminal.press("\x1b");
        terminal.drain();
    }
    terminal.press("\x0c");
    // A pane may be maximized, and drawn with ASCII characters only.
    let ascii = |line: &str| line.starts_with("- ") || line.contains("|- ");
    let heading = |line: &str| line.contains("─ ") || ascii(line);
    terminal.wait("a whole screen", |screen| {
        screen.contains("heddle abba") && screen.lines().any(heading)
    });
    // Memory that grows during the first third of the keys must not grow by as much in each other
    // third.
    let after = resident(pid);
    assert!(after < memory * 2 + 50_000, "from {memory} kB to {after} kB");
    terminal.signal("TERM");
    assert_eq!(terminal.end().0, 143);
    // Processes that ended disappear when init has collected them.
    let left = of_session(pid).into_iter().filter(|stat| !stat.contains(") Z "));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new(), "no process is left behind");
}

/// The character and colour of each cell; a blank has no colour. Without the last line, which shows
/// a message only until the next key.
fn cells(terminal: &Terminal) -> Vec<String> {
    let screen = terminal.parser.screen();
    let (rows, cols) = screen.size();
    let cell = |row, col| {
        let cell = screen.cell(row, col).expect("it is on the screen");
        match cell.contents().trim() {
            "" => " ".to_owned(),
            text => format!("{text}{:?}", cell.fgcolor()),
        }
    };
    (0..rows.get() - 1)
        .map(|row| (0..cols.get()).map(|col| cell(row, col)).collect::<String>())
        .collect()
}

/// The screen when everything that was typed is drawn. A copy of the schedule is written before the
/// effect of its key is drawn, so the second copy follows the first drawing.
fn drawn(terminal: &mut Terminal) -> Vec<String> {
    for _ in 0..2 {
        terminal.press("Y");
        terminal.copied();
    }
    cells(terminal)
}

/// Without the program only keys change the screen.
#[test]
fn incremental_drawing_equals_a_full_redraw() {
    let home = Home::new();
    let program = home.path().join("abba");
    std::fs::copy(target("abba"), &program).expect("it is copied");
    let path = program.to_string_lossy().into_owned();
    let found = home.heddle(["explore", "--strategy", "random", "--json", "--", &path]).report();
    let trace = found.bugs[0].trace.clone().expect("a trace");
    std::fs::remove_file(&program).expect("it is taken away");
    let mut terminal = Terminal::open(home, &["ui", &trace], (120, 40));
    terminal.wait_for("next to run");
    let known = all_keys(&COPIES);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for batch in 0..24 {
        if batch % 4 == 3 {
            let size = [next(&mut seed) % 200 + 20, next(&mut seed) % 50 + 6];
            terminal.resize(size[0] as u16, size[1] as u16);
        }
        let keys: Vec<&str> =
            (0..40).map(|_| known[next(&mut seed) % known.len()].as_str()).collect();
        terminal.press(&keys.concat());
        // A click beside the open window closes it.
        terminal.click_at(0, 0);
        let before = drawn(&mut terminal);
        terminal.press("\x0c");
        let anew = drawn(&mut terminal);
        assert_eq!(before, anew, "after {keys:?} in batch {batch}:\n{}", terminal.screen());
    }
    terminal.press("\x03");
    assert_eq!(terminal.end().0, 0);
}

/// The memory of a process, in kB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it has memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// The processes of a session but its first.
fn programs_of_session(pid: u32) -> Vec<i32> {
    let stats = of_session(pid);
    let number = |stat: &String| stat.split(' ').next().and_then(|text| text.parse().ok());
    stats.iter().filter_map(number).filter(|&one| one != pid as i32).collect()
}

/// The processes of a session: all descendants, including reparented ones.
fn of_session(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split(' ').collect();
            fields.get(4).is_some_and(|session| *session == pid.to_string())
        })
        .collect()
}

//! Any keys, at any size, over a live program: nothing breaks, and nothing is left behind. A few
//! thousand; `HEDDLE_KEYS=1000000` presses as many.

use portable_pty::PtySize;
use tests::heddle::Home;
use tests::terminal::{Terminal, cells, target};

/// Whatever does not leave the explorer, stop it or open another program. (The palette could.)
const KEYS: &[&str] = &[
    "j",
    "k",
    "j",
    "k",
    "g",
    "G",
    "[",
    "]",
    "{",
    "}",
    "p",
    "b",
    "i",
    "l",
    "o",
    "O",
    ".",
    ",",
    ">",
    "<",
    "J",
    "K",
    "#",
    "/",
    "1",
    "2",
    "3",
    "9",
    "d",
    "n",
    "N",
    "u",
    "U",
    "0",
    "h",
    "S",
    "f",
    "F",
    "\t",
    "z",
    "Z",
    "W",
    "e",
    "t",
    "a",
    "?",
    "x",
    "c",
    "s",
    "m",
    "M",
    "'",
    "\"",
    "y",
    "Y",
    "C",
    "v",
    "T",
    " ",
    "\r",
    "\x1b[A",
    "\x1b[B",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[<0;20;9M",
    "\x1b[<65;9;9M",
    "\x7f",
    "\x0c",
];

/// Plain numbers without a pattern: xorshift.
fn next(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 16) as usize
}

#[test]
fn random_keys_and_sizes_break_nothing() {
    let wanted = std::env::var("HEDDLE_KEYS").ok().and_then(|keys| keys.parse().ok());
    let wanted: usize = wanted.unwrap_or(3_000);
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (120, 40));
    terminal.wait_for("who may move");
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for batch in 0..wanted / 50 {
        let keys: String = (0..50).map(|_| KEYS[next(&mut seed) % KEYS.len()]).collect();
        terminal.press(&keys);
        if batch % 4 == 3 {
            let size = [next(&mut seed) % 500 + 1, next(&mut seed) % 200 + 1];
            let (cols, rows) = (size[0] as u16, size[1] as u16);
            let size = PtySize { rows, cols, ..PtySize::default() };
            terminal.master.resize(size).expect("it resizes");
            terminal.parser.screen_mut().set_size(cells(rows), cells(cols));
        }
        terminal.drain();
        assert!(matches!(terminal.child.try_wait(), Ok(None)), "it ended in batch {batch}");
    }
    let size = PtySize { rows: 40, cols: 120, ..PtySize::default() };
    terminal.master.resize(size).expect("it resizes");
    terminal.parser.screen_mut().set_size(cells(40), cells(120));
    // Out of whatever is open, and everything drawn anew.
    terminal.press("\x1b");
    terminal.drain();
    for _ in 0..3 {
        terminal.press("\x1b");
        terminal.drain();
    }
    terminal.press("\x0c");
    terminal.wait("a whole screen", |screen| {
        screen.contains("heddle abba") && (screen.contains("who may move") || screen.contains("─ "))
    });
    let pid = terminal.child.process_id().expect("it runs");
    terminal.signal("TERM");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(of_session(pid), Vec::<String>::new(), "nothing is left behind");
}

/// The processes of a session: whatever it started, and whoever became their parent.
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

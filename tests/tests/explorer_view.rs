//! What the explorer shows and offers, by keys and by the mouse: the schedule, the list of enabled
//! tasks, the panes, the windows, and what can be copied.

use std::process::Command;
use tests::heddle::Home;
use tests::terminal::{Terminal, failing, target};

#[test]
fn a_schedule_is_shown_with_the_steps_related_to_the_selected_one() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("next to run");
    // A column for each task; an arrow to the task that the selected step created.
    for text in ["T0 main", "T1 forward", "T2 backward", "►o start T1", "L lock a     abba.c:12"]
    {
        terminal.wait_for(text);
    }
    // Concurrent with the other task's steps; after the creation; before the join.
    terminal.press("#4\r");
    terminal.wait_for("4 of ");
    for text in ["  4  ▶", "  3» ▲", "  2  ‖", "  5  ▼", "  1  △"] {
        terminal.wait_for(text);
    }
    // The list shows the enabled tasks at past steps as well.
    terminal.press("e");
    terminal.wait("the enabled tasks", |screen| {
        let row = screen.lines().find(|line| line.starts_with("   4 ")).unwrap_or_default();
        row.contains(" T1 T2") && screen.contains("lock b")
    });
    // With ASCII characters only and without colours it shows the same.
    terminal.press("a");
    terminal.wait_for("  2  =");
    terminal.wait("nothing but ASCII", str::is_ascii);
    for theme in ["light", "contrast", "16", "plain", "dark"] {
        terminal.press("t");
        terminal.wait_for(&format!("theme {theme}"));
    }
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn panes_stay_where_the_user_put_them_in_all_traces() {
    let home = Home::new();
    let (first, second) = (failing(&home, "abba"), failing(&home, "lost_update"));
    let mut terminal = Terminal::open(home, &["ui", &first], (200, 60));
    terminal.wait_for("─ values ─");
    terminal.press("\x1b3*");
    terminal.wait_for("panes that stay open: source, locks, values, causes");
    terminal.press("\x1b,");
    terminal.wait_for("panes that stay open: source, locks, causes, values");
    terminal.press("q");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    let mut terminal = Terminal::open(home, &["ui", &second], (200, 60));
    terminal.wait("the panes in their order", |screen| {
        let row =
            |name: &str| screen.lines().position(|line| line.contains(&format!("─ {name} ─")));
        matches!((row("causes"), row("values")), (Some(causes), Some(values)) if causes < values)
    });
    // Leaving without a change keeps them.
    terminal.press("q");
    let (status, home) = terminal.end();
    assert_eq!(status, 0);
    let mut terminal = Terminal::open(home, &["ui", &first], (200, 60));
    terminal.wait_for("─ causes ─");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_user_runs_until_a_condition_holds() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.go_to_end();
    terminal.press("[");
    terminal.wait("the preemption", |screen| !screen.contains("at the end"));
    terminal.press("g]");
    terminal.wait_for("‼ ▶");
    terminal.press("glabba.c:23\r");
    terminal.wait("the line", |screen| selected(screen).contains("lock b"));
    terminal.press("gia\r");
    terminal.wait("the object", |screen| selected(screen).contains("lock a"));
    terminal.press("g/lock b\r");
    terminal.wait("the text", |screen| selected(screen).contains("lock b"));
    terminal.press("gib\r");
    terminal.wait("the object", |screen| selected(screen).contains("lock b"));
    terminal.press("ltwelve\r");
    terminal.wait_for("`twelve` is not a source line: try 41, or queue.c:41");
    terminal.press("#ten\r");
    terminal.wait_for("`ten` is not a step number");
    terminal.press("g");
    terminal.wait("the start", |screen| selected(screen).contains("create T1"));
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_user_runs_until_a_task_is_preempted_or_blocks() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.go_to_end();
    // T2 starts, and T1 preempts it; then T2 continues until it waits for T1 at the end.
    terminal.press("#3\rp");
    terminal.wait_for(" 4 of ");
    terminal.wait("the preemption", |screen| selected(screen).contains("start T1"));
    terminal.press("#3\rb");
    terminal.wait_for("at the end");
    // From this step on main waits for T1.
    terminal.press("gb");
    terminal.wait_for(" 3 of ");
    terminal.press("gp");
    terminal.wait_for("this task is not preempted later");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// A task that runs without interaction for a while.
const ALONE: &str = r#"
#include <pthread.h>
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
    }
    return p;
}
int main(void)
{
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
}
"#;

/// Compiles a small program.
fn compiled(home: &Home, text: &str) -> String {
    let (source, program) = (home.path().join("small.c"), home.path().join("small"));
    std::fs::write(&source, text).expect("a file");
    let mut cc = Command::new("cc");
    cc.args(["-g", "-pthread", "-o"]).arg(&program).arg(&source);
    assert!(cc.status().expect("cc runs").success());
    program.to_string_lossy().into_owned()
}

#[test]
fn steps_that_no_other_task_can_observe_are_folded_and_unfolded() {
    let home = Home::new();
    let path = compiled(&home, ALONE);
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 60));
    terminal.wait_for("⋮ 40 steps");
    terminal.press("z");
    terminal.wait("every step", |screen| screen.matches("U unlock own").count() == 20);
    terminal.press("z");
    terminal.wait_for("⋮ 40 steps");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// The row of the selected step.
fn selected(screen: &str) -> &str {
    screen.lines().find(|line| line.contains(" ▶  ")).unwrap_or_default()
}

#[test]
fn a_choice_is_made_by_a_key_and_by_a_click() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("next to run");
    terminal.press("#3\r");
    // For a blocked task the reason is shown, and which task can unblock it.
    terminal.wait_for("join T2  T2 has not ended");
    terminal.wait("what lies ahead", |screen| screen.contains("nearest"));
    // The suggested choice; then, by the mouse, the other task: the schedule changes.
    terminal.press("n");
    terminal.wait_for("4 of ");
    terminal.press("#3\r");
    terminal.wait_for("3 of ");
    terminal.click("3   T2");
    terminal.wait_for("this schedule ");
    terminal.wait_for("4 of ");
    terminal.press("u");
    terminal.wait_for("0 preemptions");
    terminal.press("U");
    terminal.wait_for("4 of ");
    terminal.press("0");
    terminal.wait_for("0 preemptions");
    terminal.press("d");
    terminal.wait_for("the previous step has only one outcome");
    terminal.press("9");
    terminal.wait_for("the list of tasks has no number 9");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

/// Two tasks wait for a signal, and then for a broadcast.
const WAITERS: &str = r#"
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *wait(void *p)
{
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return p;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, wait, 0);
    pthread_create(&b, 0, wait, 0);
    sched_yield();
    pthread_cond_signal(&c);
    sched_yield();
    pthread_cond_broadcast(&c);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
"#;

#[test]
fn the_task_woken_by_a_signal_is_chosen_as_well() {
    let home = Home::new();
    let path = compiled(&home, WAITERS);
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (200, 40));
    terminal.wait_for("signal c");
    terminal.press("/signal c\r");
    terminal.wait("the signal", |screen| selected(screen).contains("signal c"));
    terminal.press("j");
    terminal.wait_for("d   the previous signal had outcome 1 of 2");
    terminal.press("d");
    terminal.wait_for("d   the previous signal had outcome 2 of 2");
    terminal.press("u");
    terminal.wait_for("d   the previous signal had outcome 1 of 2");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn every_pane_has_content() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.go_to_end();
    let panes = [
        ("source", "pthread_mutex_lock"),
        ("locks", "T1"),
        ("causes", ""),
        ("graph", ""),
        ("values", ""),
        ("stacks", "abba.c:"),
        ("output", ""),
        ("findings", "deadlock: "),
        ("search", "h starts a search"),
        ("tree", "steps with a choice"),
    ];
    for (name, text) in panes {
        terminal.wait_for(&format!("[{name}]"));
        terminal.wait_for(text);
        // A click on its heading opens the next one.
        let heading = format!("[{name}]");
        terminal.click(&heading);
    }
    terminal.wait_for("[source]");
    // The pane fills the screen, and shrinks again.
    terminal.press("Z");
    terminal.wait("the pane alone", |screen| !screen.contains("next to run"));
    terminal.press("Z");
    terminal.wait_for("next to run");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn actions_are_found_by_name_and_performed_by_a_click() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let mut terminal = Terminal::open(home, &["ui", &trace], (150, 40));
    terminal.go_to_end();
    terminal.press("?");
    terminal.wait_for("commands and keys");
    // Switches from the help to the searchable list.
    terminal.press("/");
    terminal.wait_for("enter runs it");
    terminal.press("nextpane");
    // The list moves while it gets shorter.
    terminal.wait("it as the first of what is found", |screen| {
        let lines: Vec<&str> = screen.lines().collect();
        let first = |two: &[&str]| two[0].contains(": nextpane") && two[1].contains("next-pane");
        lines.windows(2).any(first)
    });
    terminal.click("next-pane");
    terminal.wait_for("[locks]");
    terminal.press(":previouspane\r");
    terminal.wait_for("[source]");
    // The list of strategies: a click selects one, another click starts it.
    terminal.press("gh");
    terminal.wait_for("search from this step");
    terminal.click("every schedule, in depth-first order");
    terminal.press("1");
    terminal.wait_for("at most 1 preemption from here");
    terminal.click("every schedule, in depth-first order");
    terminal.wait_for("everything within the bound was run");
    // A click beside the window closes it.
    terminal.press("h");
    terminal.wait_for("search from this step");
    terminal.click_at(0, 0);
    terminal.wait("no window", |screen| !screen.contains("search from this step"));
    terminal.press("%");
    terminal.wait_for("% has no function here; ? lists the keys");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn steps_schedules_and_panes_are_copied_through_the_terminal() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("next to run");
    terminal.press("y");
    assert!(terminal.copied().contains("create T1"));
    terminal.press("Y");
    let schedule = terminal.copied();
    assert!(schedule.contains("lock a") && !schedule.contains('\u{1b}'), "{schedule}");
    terminal.press("C");
    let pane = terminal.copied();
    assert!(pane.contains("pthread_create"), "{pane}");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_search_without_a_tree_shows_how_often_it_took_each_branch() {
    let home = Home::new();
    let path = target("abba");
    let mut terminal = Terminal::open(home, &["ui", "--", &path], (150, 40));
    terminal.wait_for("next to run");
    terminal.press("h");
    terminal.wait_for("search from this step");
    terminal.click("a uniform random walk");
    terminal.press("\r");
    terminal.wait_for("choices made at steps ");
    terminal.press("S");
    terminal.wait_for("the search ended");
    terminal.press("\t");
    terminal.wait_for("how often each choice was made");
    terminal.wait("how often", |screen| screen.contains("=T0 ◐ ") && screen.contains('x'));
    // If equivalent schedules are run once, the others are shown as omitted.
    terminal.press("h");
    terminal.wait_for("search from this step");
    terminal.click("one schedule for each order of dependent operations");
    terminal.press("\r");
    terminal.wait_for("every schedule from there was run");
    terminal.press("\t");
    terminal.wait_for("◌ pruned");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_terminal_of_80_by_24_shows_a_part_of_everything() {
    let home = Home::new();
    let path = target("abba");
    let variables = [("NO_COLOR", "1")];
    let mut terminal = Terminal::open_with(home, &["ui", "--", &path], (80, 24), &variables);
    terminal.wait_for("next to run");
    terminal.wait_for("[source]");
    terminal.wait_for("pthread_create(&first");
    let screen = terminal.parser.screen();
    let colour = |x: u16, y: u16| screen.cell(y, x).map(vt100::Cell::fgcolor);
    let all = (0..24).flat_map(|y| (0..80).map(move |x| (x, y)));
    let coloured =
        all.filter(|&(x, y)| !matches!(colour(x, y), None | Some(vt100::Color::Default)));
    assert_eq!(coloured.count(), 0, "NO_COLOR is respected");
    // The whole schedule in one column: a click goes to a step.
    terminal.click_at(79, 2);
    terminal.wait_for("1 of ");
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}

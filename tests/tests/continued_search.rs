//! A search from a prefix that was stopped and continued has the result of one that was not.

use explorer_ui::commands::target;
use explorer_ui::console::{Console, When};
use replay_core::runner::{Runner, SearchFrom, SearchLimits, Tree, Visits};
use replay_core::{Observer, Progress, SearchOptions, StrategyChoice};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tests::heddle::Home;
use tests::hostile::build;
use tests::targets::program;
use traces::Trace;
use traces::report::{Bug, Report};

/// Stops the search at the first failure, or the first progress with an execution, and keeps the last
/// counts of branches. (The whole search may take less time than is between two reports of progress.)
struct Stopper<'a> {
    stop: &'a AtomicBool,
    at_once: bool,
    visits: Option<Visits>,
}

impl Observer for Stopper<'_> {
    fn progress(&mut self, progress: &Progress) {
        if self.at_once && progress.executions > 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn bug(&mut self, _: &Bug, _: &Trace) {
        if self.at_once {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn note(&mut self, _: &str) {}

    fn tree(&mut self, _: &Progress, look: &dyn Fn() -> (Option<Tree>, Option<Visits>)) {
        self.visits = look().1;
    }
}

#[test]
fn a_continued_search_has_the_result_of_one_that_was_not_stopped() {
    let home = Home::new();
    let console = Console::new(When::Never);
    let path = program("lost_update").build().expect("it compiles").into_os_string();
    let target = target(&[path, "3".into()], false, None, &console).expect("it can be run");
    let flag = AtomicBool::new(false);
    let options = SearchOptions { out: home.path().join("out"), ..SearchOptions::default() };
    let runner = Runner::new(target, options);
    let search = |directory: &str, at_once, resume| -> (Report, Visits) {
        let out = home.path().join(directory);
        std::fs::create_dir_all(&out).expect("a directory");
        let order = SearchFrom {
            beginning: Vec::new(),
            strategy: StrategyChoice::DFS,
            bound: None,
            workers: 1,
            limits: SearchLimits::default(),
            wishes: Vec::new(),
            resume,
        };
        flag.store(false, Ordering::Relaxed);
        let mut observer = Stopper { stop: &flag, at_once, visits: None };
        let report = runner.search(&order, &out, &flag, &mut observer).expect("it runs");
        (report, observer.visits.expect("branches are counted"))
    };
    let (whole, visits) = search("whole", false, false);
    assert!(whole.complete, "{whole:?}");
    let mut stops = 0;
    let (mut report, mut counted) = search("parts", true, false);
    // Each part runs until the first report of progress, so this ends.
    while !report.complete {
        stops += 1;
        assert!(stops < 1000, "no part makes progress: {report:?}");
        (report, counted) = search("parts", stops < 3, true);
    }
    assert!(stops > 0, "it was never stopped: {report:?}");
    assert_eq!(report.executions, whole.executions);
    assert_eq!(report.distinct, whole.distinct);
    assert_eq!(counted.executions(), visits.executions(), "no branch is forgotten");
    // How deep branches are counted depends on how many fit into the counts of one piece of work.
    let ends = [counted.end(), visits.end()];
    let end = ends.into_iter().flatten().min().unwrap_or(usize::MAX);
    let upper = |visits: &Visits| {
        let depths = visits.by_depth().into_iter();
        depths.take_while(|&(depth, _)| depth < end).collect::<Vec<_>>()
    };
    assert!(upper(&visits).len() > 8, "the upper levels are counted: {ends:?}");
    assert_eq!(upper(&counted), upper(&visits));
}

/// Most executions of this program show new scheduling points. They wait until the search begins again,
/// and a search that is stopped before must not forget them.
#[test]
fn a_search_that_begins_again_has_the_same_result_after_stops() {
    const EXECUTIONS: u64 = 4_000;
    let home = Home::new();
    let console = Console::new(When::Never);
    let path = build(&home, "rare_conflicts", "program", &[]).into_os_string();
    let target = target(&[path], false, None, &console).expect("it can be run");
    let flag = AtomicBool::new(false);
    let options = SearchOptions { out: home.path().join("out"), ..SearchOptions::default() };
    let runner = Runner::new(target, options);
    let search = |directory: &str, at_once, resume| -> Report {
        let out = home.path().join(directory);
        std::fs::create_dir_all(&out).expect("a directory");
        let limits = SearchLimits { executions: Some(EXECUTIONS), ..SearchLimits::default() };
        let order = SearchFrom {
            beginning: Vec::new(),
            strategy: StrategyChoice::AUTO,
            bound: None,
            workers: 1,
            limits,
            wishes: Vec::new(),
            resume,
        };
        flag.store(false, Ordering::Relaxed);
        let mut observer = Stopper { stop: &flag, at_once, visits: None };
        runner.search(&order, &out, &flag, &mut observer).expect("it runs")
    };
    let whole = search("whole", false, false);
    assert!(whole.points.new > 10, "{:?}", whole.points);
    let began = Instant::now();
    let mut stops = 0;
    let mut report = search("parts", true, false);
    // A part may be stopped after the last execution, before the search has learned from it.
    while report.executions < whole.executions || report.reason != whole.reason {
        stops += 1;
        assert!(began.elapsed() < Duration::from_secs(300), "no part makes progress: {report:?}");
        report = search("parts", true, true);
    }
    assert!(stops > 0, "it was never stopped: {report:?}");
    let counts = |report: &Report| (report.executions, report.classes, report.distinct);
    assert_eq!(counts(&report), counts(&whole), "{stops} stops");
    assert_eq!(report.points.racy, whole.points.racy, "{stops} stops");
}

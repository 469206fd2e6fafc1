//! A search from a prefix that was stopped and continued has the result of one that was not.

use explorer_ui::commands::target;
use explorer_ui::console::{Console, When};
use replay_core::runner::{Runner, SearchFrom, SearchLimits, Tree, Visits};
use replay_core::{Observer, Progress, SearchOptions, StrategyChoice};
use std::sync::atomic::{AtomicBool, Ordering};
use tests::heddle::Home;
use tests::targets::program;
use traces::Trace;
use traces::report::{Bug, Report};

/// Stops the search at the first progress with an execution, and keeps the last counts of branches.
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

    fn bug(&mut self, _: &Bug, _: &Trace) {}

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
    assert_eq!(counted.by_depth(), visits.by_depth());
}

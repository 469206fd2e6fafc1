//! Concurrent predicates in the source (heddle.rs). Arguments: what to do, and how many threads are
//! satisfied, and how many are not; then the number of threads.
#[path = "../../probes/include/heddle.rs"]
mod heddle;

use heddle::{Group, Others};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

static GROUP: Group = Group::new();
static VALUE: AtomicUsize = AtomicUsize::new(0);
static SATISFIED: AtomicUsize = AtomicUsize::new(0);
static GAVE_UP: AtomicUsize = AtomicUsize::new(0);

fn add(to: &AtomicUsize) {
    to.fetch_add(1, SeqCst);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let what = args.get(1).map_or("increment", String::as_str);
    let (way, number) = what.split_once('-').unwrap_or((what, "0"));
    let number: u32 = number.parse().unwrap_or(0);
    let others = match way {
        "none" => Others::None,
        "fewer" => Others::Fewer(number),
        "more" => Others::More(number),
        "all" => Others::All,
        "increment" => Others::Exactly(1),
        _ => Others::Exactly(number),
    };
    let several = args.get(4).and_then(|text| text.parse().ok()).unwrap_or(4);
    let threads = if what == "increment" { 2 } else { several };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let before = VALUE.load(SeqCst);
                GROUP.others(others).priority(1).run(
                    || {},
                    || true,
                    || add(&SATISFIED),
                    || add(&GAVE_UP),
                    || {},
                );
                VALUE.store(before + 1, SeqCst);
                heddle::cp_serial(|| ());
                heddle::cp_serial_id(&GROUP, || ());
            });
        }
    });
    if what == "increment" {
        heddle::check!(VALUE.load(SeqCst) == 2);
    } else if let [_, _, satisfied, gave_up, ..] = &args[..] {
        heddle::check!(SATISFIED.load(SeqCst).to_string() == *satisfied);
        heddle::check!(GAVE_UP.load(SeqCst).to_string() == *gave_up);
    }
    println!("{} satisfied, {} not", SATISFIED.load(SeqCst), GAVE_UP.load(SeqCst));
}

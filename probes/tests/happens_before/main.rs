//! The comparison of accesses against the memory model: drawn executions, in which what comes before what is
//! worked out the slow way ([`model`]), and by the clocks and the words of memory that the runtime compares
//! accesses by. Its own source is compiled in here, as its library takes the place of `malloc`.
//! 3,000 executions of each kind are drawn, or as many as `HEDDLE_GENERATED` says.

#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../src/points/clocks.rs"]
mod clocks;
mod model;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../src/points/order.rs"]
mod order;
#[allow(dead_code, unused_macros, unused_imports, reason = "the runtime uses the rest")]
#[path = "../../src/raw.rs"]
mod raw;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../src/points/shadow.rs"]
mod shadow;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../src/points/table.rs"]
mod table;

use clocks::Clocks;
use model::{Act, Dice, Draw, Kind, Order};
use shadow::{Head, PROVEN, Shadow, Slot, USED};
use std::collections::BTreeSet;
use traces::Operation;

/// The runtime's view of an execution.
struct Detector {
    clocks: Clocks,
    shadow: Shadow,
    task: usize,
}

impl Detector {
    fn new() -> Detector {
        let (clocks, shadow) = (Clocks::new(), Shadow::new());
        assert!(clocks.map() && shadow.map(), "there is memory");
        Detector { clocks, shadow, task: 0 }
    }

    fn begin(&mut self) {
        let anew = self.clocks.begin();
        self.shadow.begin(anew);
        self.goes_on(0);
    }

    /// A task goes on, or what it knows or hands on has changed.
    fn goes_on(&mut self, task: usize) {
        self.task = task;
        self.clocks.tick(task);
    }

    /// What an event that is no access, or that comes of one, orders.
    fn synchronise(&mut self, act: Act) {
        let (clocks, shadow, me) = (&self.clocks, &self.shadow, self.task);
        let by = |operation, object, succeeds| {
            order::operation(clocks, shadow, me, operation, (object, 0), succeeds);
        };
        match act {
            Act::Plain { .. } => return,
            Act::Atomic { at, kind, order } => {
                let does = (kind != Kind::Store, matches!(kind, Kind::Store | Kind::Update));
                order::atomic(clocks, shadow, me, at, does, order::Order(order));
            }
            Act::Fence { order } => {
                let order = order::Order(order);
                clocks.fence(me, order.acquires(), order.releases());
            }
            Act::Lock(lock) => by(Operation::Lock, lock, true),
            Act::Unlock(lock) => by(Operation::Unlock, lock, true),
            Act::ReadLock(lock) => by(Operation::ReadLock, lock, true),
            Act::ReadUnlock(lock) => by(Operation::RwUnlock, lock, false),
            Act::WriteLock(lock) => by(Operation::WriteLock, lock, true),
            Act::WriteUnlock(lock) => by(Operation::RwUnlock, lock, true),
            Act::Post(semaphore) => by(Operation::SemPost, semaphore, true),
            Act::Wait(semaphore) => by(Operation::SemWait, semaphore, true),
            Act::Create(child) => clocks.create(me, child),
            Act::Join(child) => clocks.join(me, child),
            Act::Fresh(word) => shadow.forget(clocks, word, 8),
        }
        self.goes_on(me);
    }

    /// Looks at the access that an event is: the earlier events that it conflicts with. With `quickly` in the
    /// ways that most accesses take, which must come to the same.
    fn look(&self, event: usize, act: Act, quickly: bool) -> Vec<usize> {
        let Some((at, size, writes, atomic)) = act.access() else { return Vec::new() };
        let viewer = self.clocks.viewer(self.task);
        let kind = USED | PROVEN | if atomic { shadow::ATOMIC } else { 0 };
        let now = Head::new(self.clocks.stamp(), self.task as u16, kind);
        let mask = (((1u32 << size) - 1) << (at & 7)) as u8;
        let word = self.shadow.word(at).expect("there is room");
        let site = event as u64 + 1;
        let slot = now.slot(mask, writes, site);
        if !atomic {
            if word.is_seen(now, mask, writes) {
                return Vec::new();
            }
            if quickly
                && !word.orders
                && word.keep_plainly(now, mask, writes, site, viewer).is_some()
            {
                return Vec::new();
            }
        }
        let mut found = Vec::new();
        word.note(&slot, viewer, |earlier: &Slot| found.push(earlier.site as usize - 1));
        if word.orders && writes && !atomic {
            order::forget(&self.clocks, at & !7, mask);
        }
        found
    }
}

/// How many executions of a kind are drawn.
fn count() -> u64 {
    let count = std::env::var("HEDDLE_GENERATED").ok().and_then(|count| count.parse().ok());
    count.unwrap_or(3000)
}

/// Calls `check` with each drawn execution, its order, and a detector that is at its beginning.
fn each(how: Draw, mut check: impl FnMut(&[(usize, Act)], &Order, &mut [Detector; 2])) {
    // One execution after another, as in a search: what is left of those before counts no more.
    let mut detectors = [Detector::new(), Detector::new()];
    for seed in 0..count() {
        let events = model::draw(&mut Dice::new(seed), how);
        detectors.iter_mut().for_each(Detector::begin);
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&events, &Order::of(&events), &mut detectors);
        }));
        if let Err(panic) = said {
            for (number, (task, act)) in events.iter().enumerate() {
                eprintln!("{number:3} T{task} {act:?}");
            }
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Lets an event happen, after `look` had its look at it.
fn goes_on<T>(
    detector: &mut Detector,
    (task, act): (usize, Act),
    look: impl FnOnce(&Detector) -> T,
) -> T {
    if detector.task != task {
        detector.goes_on(task);
    }
    let seen = look(detector);
    detector.synchronise(act);
    seen
}

/// Whether both touch the same bytes of the same memory, and one of them writes.
fn conflict(events: &[(usize, Act)], earlier: usize, later: usize) -> bool {
    let (Some(one), Some(other)) = (events[earlier].1.access(), events[later].1.access()) else {
        return false;
    };
    let is_new = |event: &(usize, Act)| event.1 == Act::Fresh(one.0 & !7);
    one.0 < other.0 + other.1
        && other.0 < one.0 + one.1
        && (one.2 || other.2)
        && !events[earlier..later].iter().any(is_new)
}

/// Each two accesses are ordered by clocks just as they are by the model.
#[test]
fn clocks_order_what_the_memory_model_orders() {
    let how = Draw { tasks: 4, events: 60, uniform: false };
    let (mut ordered, mut apart) = (0, 0);
    each(how, |events, order, [detector, _]| {
        let mut heads: Vec<(usize, usize, Head)> = Vec::new();
        for (number, &(task, act)) in events.iter().enumerate() {
            goes_on(detector, (task, act), |detector| {
                if act.access().is_none() {
                    return;
                }
                let viewer = detector.clocks.viewer(task);
                for &(earlier, other, head) in heads.iter().filter(|head| head.1 != task) {
                    let has = order.has(earlier, number);
                    assert_eq!(
                        viewer.knows(head),
                        has,
                        "{earlier} of T{other}, {number} of T{task}"
                    );
                    *(if has { &mut ordered } else { &mut apart }) += 1;
                }
                heads.push((number, task, Head::new(detector.clocks.stamp(), task as u16, USED)));
                // What plain accesses do to atomics.
                detector.look(number, act, false);
            });
        }
    });
    println!("{ordered} pairs are ordered, {apart} are not");
    assert!(ordered > count() && apart > count());
}

/// Where each word is touched in one way only, each access is told of that conflicts with one before it, up to
/// the first of its word.
#[test]
fn each_first_conflict_of_a_word_is_told_of() {
    let how = Draw { tasks: 3, events: 60, uniform: true };
    let mut told = 0;
    each(how, |events, order, [detector, _]| {
        let mut known = BTreeSet::new();
        for (number, &(task, act)) in events.iter().enumerate() {
            let found = goes_on(detector, (task, act), |detector| detector.look(number, act, true));
            let Some((at, ..)) = act.access() else { continue };
            let apart = |earlier: &usize| {
                events[*earlier].0 != task
                    && conflict(events, *earlier, number)
                    && !order.has(*earlier, number)
            };
            let wanted: Vec<usize> = (0..number).filter(apart).collect();
            if !known.contains(&(at & !7)) {
                assert_eq!(
                    found.is_empty(),
                    wanted.is_empty(),
                    "{number}: {found:?}, not {wanted:?}"
                );
            }
            assert!(
                found.iter().all(|one| wanted.contains(one)),
                "{number}: {found:?}, not {wanted:?}"
            );
            if !found.is_empty() {
                told += 1;
                known.insert(at & !7);
            }
        }
    });
    println!("{told} were told of");
    assert!(told > count());
}

/// Accesses of all sizes: what is told of is a conflict. The ways that most accesses take come to what the long
/// one comes to.
#[test]
fn nothing_is_told_of_that_is_ordered_and_short_ways_come_to_the_same() {
    let how = Draw { tasks: 5, events: 100, uniform: false };
    let (mut told, mut all) = (0, 0);
    each(how, |events, order, [quick, slow]| {
        for (number, &event) in events.iter().enumerate() {
            let (task, act) = event;
            let found = goes_on(quick, event, |detector| detector.look(number, act, true));
            let other = goes_on(slow, event, |detector| detector.look(number, act, false));
            assert_eq!(found, other, "{number}");
            let apart = |earlier: usize| {
                events[earlier].0 != task
                    && conflict(events, earlier, number)
                    && !order.has(earlier, number)
            };
            assert!(found.iter().all(|&one| apart(one)), "{number}: {found:?}");
            told += u64::from(!found.is_empty());
            all += u64::from((0..number).any(apart));
            if let Some((at, ..)) = act.access() {
                let word = |detector: &Detector| format!("{:?}", detector.shadow.word(at));
                assert_eq!(word(quick), word(slow), "{number}");
            }
        }
    });
    // There are places for four accesses to a word.
    println!("{told} accesses are told of, of {all} that conflict");
    assert!(told * 20 > all * 17);
}

//! A comparison of the race detector with the memory model. Executions are drawn at random; their
//! happens-before relation is computed by definition ([`model`]), and by the runtime's vector
//! clocks and shadow memory. The runtime's source files are compiled into this test, because its
//! library interposes `malloc`. 3,000 executions of each kind are drawn, or as many as
//! `HEDDLE_GENERATED` says.

#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../src/detect"]
mod detect {
    pub(crate) mod clocks;
    pub(crate) mod order;
    pub(crate) mod shadow;
    pub(crate) mod slot;
    pub(crate) mod table;
}
mod model;
/// In these executions each byte has one address, and nothing is freed.
mod memory {
    pub(crate) mod arena {
        pub(crate) fn each_freed(_: u64, _: u64, _: impl FnMut(u64, u64)) {}
    }
    pub(crate) mod shared_views {
        pub(crate) fn canonical(address: u64) -> u64 {
            address
        }
    }
}

#[allow(dead_code, unused_macros, unused_imports, reason = "the runtime uses the rest")]
#[path = "../../src/sys"]
mod sys {
    pub(crate) mod raw;
}

use detect::clocks::Clocks;
use detect::order;
use detect::shadow::Shadow;
use detect::slot::{ATOMIC, Head, PROVEN, Slot, USED};
use model::{Act, Dice, Draw, Kind, Order};
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
        self.proceed(0);
    }

    /// Continues with a task, or begins a new stretch of it.
    fn proceed(&mut self, task: usize) {
        self.task = task;
        self.clocks.tick(task);
    }

    /// Updates the clocks for an event that is not a plain access.
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
        self.proceed(me);
    }

    /// The earlier events with which the event's access conflicts. With `quickly`, by the fast
    /// paths, which must give the same result.
    fn look(&self, event: usize, act: Act, quickly: bool) -> Vec<usize> {
        let Some((at, size, writes, atomic)) = act.access() else { return Vec::new() };
        let viewer = self.clocks.viewer(self.task);
        let kind = USED | PROVEN | if atomic { ATOMIC } else { 0 };
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
                && !word.is_marked()
                && word.store_plain(now, mask, writes, site, viewer).is_some()
            {
                return Vec::new();
            }
        }
        let mut found = Vec::new();
        word.note(&slot, viewer, |earlier: &Slot| found.push(earlier.site as usize - 1));
        if word.orders() && writes && !atomic {
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

/// Calls `check` with each drawn execution, its happens-before relation, and two detectors in their
/// initial state.
fn each(how: Draw, mut check: impl FnMut(&[(usize, Act)], &Order, &mut [Detector; 2])) {
    // One execution after another, as in a search: state of earlier ones must have no effect.
    let mut detectors = [Detector::new(), Detector::new()];
    for seed in 0..count() {
        let events = model::draw(&mut Dice::new(seed), how);
        detectors.iter_mut().for_each(Detector::begin);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&events, &Order::of(&events), &mut detectors);
        }));
        if let Err(panic) = outcome {
            for (number, (task, act)) in events.iter().enumerate() {
                eprintln!("{number:3} T{task} {act:?}");
            }
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Executes an event, after `look` has compared it with the earlier ones.
fn proceed<T>(
    detector: &mut Detector,
    (task, act): (usize, Act),
    look: impl FnOnce(&Detector) -> T,
) -> T {
    if detector.task != task {
        detector.proceed(task);
    }
    let seen = look(detector);
    detector.synchronise(act);
    seen
}

/// Whether both access common bytes of the same memory, and one of them writes.
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

/// Any two accesses are ordered by the clocks exactly as by the model.
#[test]
fn clocks_order_what_the_memory_model_orders() {
    let how = Draw { tasks: 4, events: 60, uniform: false };
    let (mut ordered, mut apart) = (0, 0);
    each(how, |events, order, [detector, _]| {
        let mut heads: Vec<(usize, usize, Head)> = Vec::new();
        for (number, &(task, act)) in events.iter().enumerate() {
            proceed(detector, (task, act), |detector| {
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
                // A plain write ends a release sequence.
                detector.look(number, act, false);
            });
        }
    });
    println!("{ordered} pairs are ordered, {apart} are not");
    assert!(ordered > count() && apart > count());
}

/// If each word is only accessed in one way, every access that conflicts with an earlier one is
/// reported, up to the first conflict of its word.
#[test]
fn each_first_conflict_of_a_word_is_reported() {
    let how = Draw { tasks: 3, events: 60, uniform: true };
    let mut reported = 0;
    each(how, |events, order, [detector, _]| {
        let mut known = BTreeSet::new();
        for (number, &(task, act)) in events.iter().enumerate() {
            let found = proceed(detector, (task, act), |detector| detector.look(number, act, true));
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
                reported += 1;
                known.insert(at & !7);
            }
        }
    });
    println!("{reported} were reported");
    assert!(reported > count());
}

/// With accesses of all sizes, everything reported is a conflict, and the fast paths agree with the
/// general one.
#[test]
fn ordered_accesses_are_not_reported_and_fast_paths_agree() {
    let how = Draw { tasks: 5, events: 100, uniform: false };
    let (mut reported, mut all) = (0, 0);
    each(how, |events, order, [quick, slow]| {
        for (number, &event) in events.iter().enumerate() {
            let (task, act) = event;
            let found = proceed(quick, event, |detector| detector.look(number, act, true));
            let other = proceed(slow, event, |detector| detector.look(number, act, false));
            assert_eq!(found, other, "{number}");
            let apart = |earlier: usize| {
                events[earlier].0 != task
                    && conflict(events, earlier, number)
                    && !order.has(earlier, number)
            };
            assert!(found.iter().all(|&one| apart(one)), "{number}: {found:?}");
            reported += u64::from(!found.is_empty());
            all += u64::from((0..number).any(apart));
            if let Some((at, ..)) = act.access() {
                let word = |detector: &Detector| format!("{:?}", detector.shadow.word(at));
                assert_eq!(word(quick), word(slow), "{number}");
            }
        }
    });
    // A word remembers only four accesses.
    println!("{reported} of {all} conflicting accesses were reported");
    assert!(reported * 20 > all * 17);
}

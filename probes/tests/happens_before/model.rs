//! Small random executions and their happens-before relation, computed by definition from the C++
//! standard (20, 6.9.2.2 and 33.5.11): as the transitive closure of its single edges.

use search::rng::Rng;

/// Draws numbers, the same ones for the same seed.
pub(crate) struct Dice(Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(Rng::new(seed, 0))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u32) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// The kind of an atomic access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    Update,
    /// A compare-and-exchange that fails.
    Fails,
}

/// An event; locks and semaphores are given by the word that contains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Plain {
        at: u64,
        size: u64,
        writes: bool,
    },
    Atomic {
        at: u64,
        kind: Kind,
        order: i32,
    },
    Fence {
        order: i32,
    },
    Lock(u64),
    Unlock(u64),
    ReadLock(u64),
    ReadUnlock(u64),
    WriteLock(u64),
    WriteUnlock(u64),
    Post(u64),
    Wait(u64),
    Create(usize),
    Join(usize),
    /// The word is freed and allocated again: a new object.
    Fresh(u64),
}

/// The size of every atomic.
pub(crate) const ATOMIC: u64 = 4;

impl Act {
    /// The bytes of its access, whether it writes, and whether it is atomic.
    pub(crate) fn access(self) -> Option<(u64, u64, bool, bool)> {
        match self {
            Act::Plain { at, size, writes } => Some((at, size, writes, false)),
            Act::Atomic { at, kind, .. } => {
                Some((at, ATOMIC, matches!(kind, Kind::Store | Kind::Update | Kind::Fails), true))
            }
            _ => None,
        }
    }

    /// Whether the access determines what a later read of the byte returns.
    fn leaves(self, byte: u64) -> bool {
        match self {
            Act::Plain { at, size, writes } => writes && (at..at + size).contains(&byte),
            Act::Atomic { at, kind, .. } => {
                at == byte && matches!(kind, Kind::Store | Kind::Update)
            }
            Act::Fresh(word) => word == byte & !7,
            _ => false,
        }
    }
}

/// The parameters of drawn executions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draw {
    pub(crate) tasks: usize,
    pub(crate) events: usize,
    /// Whether each word is only accessed in one way: as a whole, or as one atomic.
    pub(crate) uniform: bool,
}

/// Words of the program: some for plain accesses, some that hold atomics, and one for each lock.
const PLAIN: [u64; 2] = [0x1_0000, 0x1_0008];
const ATOMICS: [u64; 3] = [0x1_0010, 0x1_0014, 0x1_0018];
const MUTEXES: [u64; 2] = [0x2_0000, 0x2_0008];
const RWLOCK: u64 = 0x2_0010;
const SEMAPHORE: u64 = 0x2_0018;

/// Draws an execution: events with their tasks, in the order in which they happen.
pub(crate) fn draw(dice: &mut Dice, how: Draw) -> Vec<(usize, Act)> {
    let mut world = World::new(how.tasks);
    let mut events = Vec::new();
    while events.len() < how.events {
        let task = dice.below(how.tasks);
        // Several events in a row, which often belong to one stretch.
        for _ in 0..=dice.below(4) {
            let act = any(dice, how);
            if world.happens(task, act) {
                events.push((task, act));
            }
        }
    }
    events
}

fn any(dice: &mut Dice, how: Draw) -> Act {
    let order = dice.below(6) as i32;
    let writes = dice.below(2) == 0;
    match dice.below(28) {
        0..8 if how.uniform => Act::Plain { at: dice.of(&PLAIN), size: 8, writes },
        0..8 => {
            let size = dice.of(&[1, 2, 4, 8]);
            let word = dice.of(&[PLAIN[0], PLAIN[1], ATOMICS[0], ATOMICS[2]]);
            Act::Plain { at: word + size * dice.below((8 / size) as usize) as u64, size, writes }
        }
        8..16 => {
            let kinds = [Kind::Load, Kind::Store, Kind::Update, Kind::Fails];
            let all = if how.uniform { &ATOMICS[1..] } else { &ATOMICS };
            Act::Atomic { at: dice.of(all), kind: dice.of(&kinds), order }
        }
        16..18 => Act::Fence { order },
        18 => Act::Lock(dice.of(&MUTEXES)),
        19 => Act::Unlock(dice.of(&MUTEXES)),
        20 => dice.of(&[Act::ReadLock(RWLOCK), Act::ReadUnlock(RWLOCK)]),
        21 => dice.of(&[Act::WriteLock(RWLOCK), Act::WriteUnlock(RWLOCK)]),
        22 => Act::Post(SEMAPHORE),
        23 => Act::Wait(SEMAPHORE),
        24 | 25 => Act::Create(dice.below(how.tasks)),
        26 => Act::Join(dice.below(how.tasks)),
        _ => Act::Fresh(dice.of(&[PLAIN[0], ATOMICS[0], ATOMICS[2], MUTEXES[0], SEMAPHORE])),
    }
}

/// The state that decides which events are possible.
struct World {
    made: Vec<bool>,
    ended: Vec<bool>,
    /// Locks that tasks hold exclusively.
    held: Vec<(usize, u64)>,
    reading: Vec<(usize, u64)>,
    posts: usize,
}

impl World {
    fn new(tasks: usize) -> World {
        let made = (0..tasks).map(|task| task == 0).collect();
        World { made, ended: vec![false; tasks], held: Vec::new(), reading: Vec::new(), posts: 0 }
    }

    /// Applies an event, if it is possible.
    fn happens(&mut self, task: usize, act: Act) -> bool {
        let take = |from: &mut Vec<(usize, u64)>, lock| {
            let at = from.iter().position(|held| *held == (task, lock));
            at.map(|at| from.swap_remove(at)).is_some()
        };
        let is_held = |by: &[(usize, u64)], lock| by.iter().any(|held| held.1 == lock);
        if !self.made[task] || self.ended[task] {
            return false;
        }
        match act {
            Act::Lock(lock) | Act::WriteLock(lock) | Act::ReadLock(lock) => {
                let reads = matches!(act, Act::ReadLock(_));
                if is_held(&self.held, lock) || !reads && is_held(&self.reading, lock) {
                    return false;
                }
                if reads { &mut self.reading } else { &mut self.held }.push((task, lock));
                true
            }
            Act::Unlock(lock) | Act::WriteUnlock(lock) => take(&mut self.held, lock),
            Act::ReadUnlock(lock) => take(&mut self.reading, lock),
            Act::Post(_) => {
                self.posts += 1;
                true
            }
            Act::Wait(_) => {
                let is_open = self.posts > 0;
                self.posts -= usize::from(is_open);
                is_open
            }
            Act::Create(child) => !std::mem::replace(&mut self.made[child], true),
            // A joined task has ended.
            Act::Join(child) => {
                let can = child != task
                    && child != 0
                    && self.made[child]
                    && !self.held.iter().chain(&self.reading).any(|held| held.0 == child);
                can && !std::mem::replace(&mut self.ended[child], true)
            }
            Act::Fresh(word) => {
                self.posts = if word == SEMAPHORE { 0 } else { self.posts };
                !is_held(&self.held, word)
            }
            Act::Plain { .. } | Act::Atomic { .. } | Act::Fence { .. } => true,
        }
    }
}

/// A set of events, by their numbers.
type Set = u128;

/// The happens-before relation of an execution.
pub(crate) struct Order {
    /// For each event, those that happen before it, without what it acquires itself.
    begun: Vec<Set>,
}

impl Order {
    pub(crate) fn of(events: &[(usize, Act)]) -> Order {
        let mut begun = Vec::new();
        let mut done: Vec<Set> = Vec::new();
        for (at, &(task, _)) in events.iter().enumerate() {
            let through = |earlier: usize| done[earlier] | 1 << earlier;
            let sequenced = (0..at).rev().find(|&earlier| events[earlier].0 == task);
            let made = (0..at).find(|&earlier| events[earlier].1 == Act::Create(task));
            let before = sequenced.or(made).map_or(0, through);
            let learned = synchronised(events, at).into_iter().map(through);
            let after = learned.fold(before, |all, one| all | one);
            begun.push(before);
            done.push(after);
        }
        Order { begun }
    }

    /// Whether the earlier event happens before the later one begins.
    pub(crate) fn has(&self, earlier: usize, later: usize) -> bool {
        self.begun[later] & 1 << earlier != 0
    }
}

fn acquires(order: i32) -> bool {
    matches!(order, 1 | 2 | 4 | 5)
}

fn releases(order: i32) -> bool {
    matches!(order, 3..=5)
}

/// The events that synchronise with this one.
fn synchronised(events: &[(usize, Act)], at: usize) -> Vec<usize> {
    let (task, act) = events[at];
    // After a release and a new allocation the word is another object.
    let since = |word: u64| {
        (0..at).rev().find(|&earlier| events[earlier].1 == Act::Fresh(word)).unwrap_or(0)
    };
    let all = |word: u64, which: &dyn Fn(Act) -> bool| -> Vec<usize> {
        (since(word)..at).filter(|&earlier| which(events[earlier].1)).collect()
    };
    match act {
        Act::Lock(lock) => all(lock, &|act| act == Act::Unlock(lock)),
        Act::ReadLock(lock) => all(lock, &|act| act == Act::WriteUnlock(lock)),
        Act::WriteLock(lock) => {
            all(lock, &|act| act == Act::WriteUnlock(lock) || act == Act::ReadUnlock(lock))
        }
        Act::Wait(semaphore) => all(semaphore, &|act| act == Act::Post(semaphore)),
        Act::Join(child) => (0..at).rev().find(|&event| events[event].0 == child).map_or_else(
            || (0..at).filter(|&event| events[event].1 == Act::Create(child)).collect(),
            |last| vec![last],
        ),
        Act::Atomic { kind, order, .. } if kind != Kind::Store && acquires(order) => {
            released(events, at)
        }
        // Includes what its task read before, with any memory order.
        Act::Fence { order } if acquires(order) => {
            let own = (0..at).filter(|&earlier| events[earlier].0 == task);
            own.flat_map(|earlier| released(events, earlier)).collect()
        }
        _ => Vec::new(),
    }
}

/// The events with which an atomic would synchronise if it acquired: the heads of the release
/// sequences from which it reads.
fn released(events: &[(usize, Act)], at: usize) -> Vec<usize> {
    let mut heads = Vec::new();
    let mut reader = at;
    // Read-modify-writes continue a release sequence, and nothing else does.
    while let Act::Atomic { at: address, kind: Kind::Load | Kind::Update | Kind::Fails, .. } =
        events[reader].1
    {
        let Some(writer) = (0..reader).rev().find(|&event| events[event].1.leaves(address)) else {
            break;
        };
        let (task, Act::Atomic { order, .. }) = events[writer] else { break };
        if releases(order) {
            heads.push(writer);
        }
        // A releasing fence before the write counts like a release by the write.
        let is_fence = |&event: &usize| {
            events[event].0 == task
                && matches!(events[event].1, Act::Fence { order } if releases(order))
        };
        heads.extend((0..writer).filter(is_fence));
        reader = writer;
    }
    heads
}

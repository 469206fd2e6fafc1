//! Concurrent predicates: which tasks are at their sites, and whether the condition holds.
//!
//! A task that reaches a site executes two operations there: it arrives, and it departs. Between the
//! two it is *at* the site. The scheduler evaluates the predicates before each choice while enough
//! tasks are at sites. So the answer depends on the order of arrivals, departures and the writes to
//! what the condition reads, and a reduction knows all of these.
//!
//! A condition that is watched (`--always`, `--never`) without sites is evaluated after each operation
//! that may change it, from the creation of the second task on: what the first one initialises before
//! that breaks nothing. The operations that may change it depend on each other.

mod counted;
mod evaluation;

use counted::Reached;
pub(crate) use counted::{Saved, executes, fails, follows, reached, restore, save};
use evaluation::{Prepared, Site, Thread, is_all_watched, watch};

use crate::detect::access;
use crate::detect::learned_points;
use crate::schedule::scheduler::point;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::start_point;
use crate::state::task::{Gate, Task};
use crate::state::world::{on_fiber, world};
use crate::steps::identity;
use search::strategy::when;
use std::cell::{Cell, RefCell};
use traces::points::InstrumentationGap;
use traces::predicate::{
    CodeAddress, CodeRange, MOST_PLACES, MOST_ROLES, Predicate, Purpose, Slot, ThreadMatch,
};
use traces::wire::Plan;
use traces::{FailureKind, ObjectKind, Operation, agent_expression};

/// A longer write counts as one to what a condition reads.
const LONGEST_WRITE: u64 = 4096;

/// The most bytes of an object of the threads library, in which a condition may read.
const LARGEST_OBJECT: u64 = 64;

struct Here {
    prepared: RefCell<Prepared>,
    /// Whether there are predicates, and whether one has a condition.
    are_there: Cell<bool>,
    have_conditions: Cell<bool>,
    /// Whether there are sites, and whether a condition is watched in every state.
    have_sites: Cell<bool>,
    watch_every_state: Cell<bool>,
    /// The predicates that are no longer watched, one bit each.
    released: Cell<u64>,
    /// Whether executions are led through a predicate, and whether some are counted.
    lead: Cell<bool>,
    count: Cell<bool>,
    /// The predicates that count executions and were reached, one bit each.
    reached: Reached,
    /// The task that is to execute the next operation, plus one, while a predicate holds to which executions are led; or 0.
    first: Cell<u32>,
    /// Whether an execution of the learning phase broke a condition.
    broke: Cell<bool>,
    /// How many tasks are at sites.
    present: Cell<usize>,
    /// Whether a task arrived since the last evaluation.
    arrived: Cell<bool>,
    /// The fewest roles of a predicate.
    fewest: Cell<usize>,
    /// The step, plus one, for which `open` was computed, and the predicates whose shared part of the
    /// condition holds there, one bit each.
    judged: Cell<u64>,
    open: Cell<u64>,
}
// SAFETY: the controlled process has one kernel thread. The contents are written in `prepare`, and
// afterwards only borrowed for reading.
unsafe impl Sync for Here {}
static HERE: Here = Here {
    prepared: RefCell::new(Prepared {
        predicates: Vec::new(),
        threads: Vec::new(),
        bases: Vec::new(),
        sites: Vec::new(),
        sites_of: Vec::new(),
        variables: Vec::new(),
        first_slots: Vec::new(),
        slots: 0,
        operations: Vec::new(),
        at_arrival: Vec::new(),
    }),
    are_there: Cell::new(false),
    have_conditions: Cell::new(false),
    have_sites: Cell::new(false),
    watch_every_state: Cell::new(false),
    released: Cell::new(0),
    lead: Cell::new(false),
    count: Cell::new(false),
    reached: Reached::none(),
    first: Cell::new(0),
    broke: Cell::new(false),
    present: Cell::new(0),
    arrived: Cell::new(false),
    fewest: Cell::new(0),
    judged: Cell::new(0),
    open: Cell::new(0),
};

/// Resolves the predicates to addresses, before the program's code is decoded.
pub(crate) fn prepare(predicates: &[Predicate]) {
    if predicates.is_empty() {
        return;
    }
    let modules = identity::named_modules();
    // The loader and the memory map may use different paths for one file.
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let base = |module: &str| {
        modules.iter().find(|(name, _)| file(name) == file(module)).map(|&(_, base)| base)
    };
    let address = |at: &CodeAddress| Some(base(&at.module)?.wrapping_add(at.offset));
    let mut prepared = Prepared { variables: identity::writable(), ..Prepared::default() };
    for (number, predicate) in predicates.iter().enumerate() {
        let mut threads = Vec::new();
        for (index, role) in predicate.roles.iter().take(MOST_ROLES).enumerate() {
            for (place, at) in role.places.iter().enumerate() {
                let Some(at) = address(at) else {
                    access::note_gap(InstrumentationGap::Sites);
                    continue;
                };
                let before_write = role.before_write;
                let mut sites = prepared.sites.iter_mut();
                match sites.find(|it| (it.address, it.before_write) == (at, before_write)) {
                    Some(site) => site.roles.push((number, index, place)),
                    None => {
                        let roles = vec![(number, index, place)];
                        let extent = role.extents.get(place);
                        let range = |code: &CodeRange| at.wrapping_add_signed(code.distance);
                        let range = |code: &CodeRange| range(code)..range(code) + code.len;
                        let parts = extent.into_iter().flat_map(|it| &it.code);
                        let code = parts.map(|part| (range(&part.range), part.call)).collect();
                        prepared.sites.push(Site {
                            address: at,
                            before_write,
                            roles,
                            code,
                            function: extent.map_or(0..0, |it| range(&it.function)),
                        });
                    }
                }
            }
            threads.push(match &role.thread {
                ThreadMatch::Any => Thread::Any,
                ThreadMatch::Number(task) => Thread::Number(*task),
                ThreadMatch::Named { name, functions } => {
                    Thread::Named(name.clone(), functions.iter().filter_map(address).collect())
                }
            });
        }
        prepared.threads.push(threads);
        let bases = predicate.slots.iter().map(|slot| match slot {
            Slot::Base(module) => base(module).unwrap_or(0),
            Slot::Local { .. } => 0,
        });
        prepared.bases.push(bases.collect());
        prepared.first_slots.push(prepared.slots);
        prepared.slots += predicate.slots.len();
    }
    prepared.sites.sort_by_key(|site| (site.address, site.before_write));
    prepared.sites_of =
        predicates.iter().map(|predicate| vec![Vec::new(); predicate.roles.len()]).collect();
    for (site, of) in prepared.sites.iter().enumerate() {
        for &(predicate, role, place) in &of.roles {
            prepared.sites_of[predicate][role].push((site, place));
        }
    }
    prepared.predicates = predicates.to_vec();
    HERE.fewest.set(predicates.iter().map(|one| one.roles.len()).min().unwrap_or(0));
    let has_sites = |one: &Predicate| !one.roles.is_empty();
    HERE.have_sites.set(predicates.iter().any(has_sites));
    let is_evaluated = |one: &Predicate| has_sites(one) && !one.condition.is_empty();
    HERE.have_conditions.set(predicates.iter().any(is_evaluated));
    HERE.lead.set(predicates.iter().any(|one| one.purpose == Purpose::Through));
    let counts = predicates.iter().any(|one| one.purpose.counts());
    HERE.count.set(counts);
    if counts {
        prepared.operations = vec![Cell::new(None); MOST_PLACES * MOST_PLACES];
        prepared.at_arrival = vec![Cell::new(None); prepared.slots * MOST_PLACES];
    }
    HERE.watch_every_state.set(predicates.iter().any(Predicate::watches_every_state));
    *HERE.prepared.borrow_mut() = prepared;
    HERE.are_there.set(true);
}

/// An execution begins.
pub(crate) fn begin() {
    HERE.present.set(0);
    HERE.arrived.set(false);
    HERE.judged.set(0);
    HERE.released.set(0);
    HERE.reached.clear();
    HERE.first.set(0);
    HERE.broke.set(false);
}

/// Whether executions are still to be led through a predicate.
fn leads() -> bool {
    HERE.lead.get() && HERE.reached.is_empty()
}

/// Whether a task is at a site of a predicate, and leaves it with its pending operation. It stops at
/// the sites of predicates that do not count executions, and executes two operations there.
pub(crate) fn is_at_site(operation: Operation, task: &Task) -> bool {
    operation == Operation::Depart || HERE.lead.get() && task.passed.get() != 0
}

/// Whether a task may be held at its site: its part of the condition may hold, and the execution is not
/// past what it was led to.
pub(crate) fn is_worth_holding(task: &Task) -> bool {
    task.worth.get() && (!HERE.lead.get() || leads() && HERE.first.get() == 0)
}

/// Whether there are predicates.
pub(crate) fn are_there() -> bool {
    HERE.are_there.get()
}

/// Whether there are predicates with sites.
pub(crate) fn have_sites() -> bool {
    HERE.have_sites.get()
}

/// The instructions that need a probe, ascending.
pub(crate) fn addresses() -> Vec<u64> {
    let mut all: Vec<u64> = HERE.prepared.borrow().sites.iter().map(|it| it.address).collect();
    all.dedup();
    all
}

/// Whether an operation leaves the memory that conditions read as it is.
pub(crate) fn keeps_memory(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Read | O::Await | O::Yield | O::Sleep | O::Site | O::Depart)
}

/// Whether an operation may change what a condition reads that is evaluated while tasks are at sites.
#[inline]
pub(crate) fn may_satisfy(operation: Operation) -> bool {
    HERE.have_conditions.get() && !keeps_memory(operation)
}

/// Whether the pending operation of a task may change a condition that is watched in every state. Each
/// write to what such a condition reads is a separate operation.
#[inline]
pub(crate) fn may_break(operation: Operation, task: &Task) -> bool {
    HERE.watch_every_state.get() && touches_watched(operation, task)
}

#[cold]
fn touches_watched(operation: Operation, task: &Task) -> bool {
    use Operation as O;
    let watched_within = |from: u64, bytes: u64| {
        (from & !7..from.saturating_add(bytes)).step_by(8).any(learned_points::is_watched)
    };
    let object = task.object.get();
    match operation {
        O::Start | O::Exit => false,
        operation if keeps_memory(operation) => false,
        O::Write | O::Update => {
            let (second, size) = (task.second.get(), task.size.get().max(8));
            size > LONGEST_WRITE
                || task.several.get().1 > 0
                || watched_within(object, size)
                || second != 0 && watched_within(second, 8)
        }
        // What else the call stores, such as the number of a new thread, is not known here.
        operation if !is_in_memory(operation) => true,
        _ => {
            let mutex = task.gate().mutex();
            watched_within(object, LARGEST_OBJECT)
                || mutex != 0 && watched_within(mutex, LARGEST_OBJECT)
        }
    }
}

/// Whether the pending operation of a task writes to a variable that was read for a condition. (A
/// directed search has to find it once in the opposite order, so that it need not know every other
/// way in which a variable changes.)
#[inline]
pub(crate) fn writes_condition(operation: Operation, task: &Task) -> bool {
    HERE.have_conditions.get()
        && matches!(operation, Operation::Write | Operation::Update)
        && touches_watched(operation, task)
}

/// Whether the operation changes an object of the threads library in the program's memory, and no
/// other memory.
fn is_in_memory(operation: Operation) -> bool {
    matches!(
        operation.description().object,
        ObjectKind::Mutex
            | ObjectKind::Condition
            | ObjectKind::Semaphore
            | ObjectKind::RwLock
            | ObjectKind::Barrier
    )
}

/// The running task is about to execute the instruction of a site; its registers are saved at
/// [`Task::probed`]. `behind` is the address behind the instruction. `is_split`: the instruction executes as
/// a read and a write, so [`arrive_before_write`] follows.
pub(crate) fn arrive(address: u64, behind: u64, is_split: bool) {
    arrive_at(address, false, behind);
    if !is_split {
        arrive_at(address, true, behind);
    }
}

/// The instruction of a site has read what it is about to write.
pub(crate) fn arrive_before_write(address: u64, behind: u64) {
    arrive_at(address, true, behind);
}

fn arrive_at(address: u64, before_write: bool, behind: u64) {
    if !HERE.are_there.get() || !on_fiber() {
        return;
    }
    let task = world().task();
    let Some(arrival) = arrival(address, before_write) else { return };
    let Arrival { site, counts, stops, starts } = arrival;
    if counts {
        // It can be at several sites until its next operation.
        let others = task.passed.get() != 0 && task.worth.get();
        let is_worth = HERE.lead.get() && (others || judge(task, site).is_worth_holding);
        task.worth.set(is_worth);
        HERE.prepared.borrow().pass(task, site);
    }
    if starts {
        start_point::note_site();
        point(Operation::Site, 0, behind, Gate::Open);
    }
    if !stops {
        return;
    }
    // It left its last site by a handler or a jump.
    if task.at_site.replace(0) != 0 {
        HERE.present.set(HERE.present.get().saturating_sub(1));
    }
    point(Operation::Site, 0, behind, Gate::Open);
    task.at_site.set(site as u32 + 1);
    HERE.present.set(HERE.present.get() + 1);
    // No other task runs before the next evaluation.
    let Judged { is_worth_holding, is_decided } = judge(task, site);
    task.worth.set(is_worth_holding);
    HERE.arrived.set(HERE.arrived.get() || is_worth_holding || !is_decided);
    point(Operation::Depart, 0, behind, Gate::Open);
    task.at_site.set(0);
    HERE.present.set(HERE.present.get() - 1);
}

/// What a task finds at a site.
struct Arrival {
    site: usize,
    /// Whether a role there is open to the task, of a predicate that counts executions, and of one for
    /// which it stops.
    counts: bool,
    stops: bool,
    /// Whether the search begins here.
    starts: bool,
}

/// What a task finds at the site of an address, if there is one.
fn arrival(address: u64, before_write: bool) -> Option<Arrival> {
    let here = HERE.prepared.borrow();
    let at = (address, before_write);
    let site = here.sites.binary_search_by_key(&at, |it| (it.address, it.before_write)).ok()?;
    let number = world().current.get();
    let (mut counts, mut stops, mut starts) = (false, false, false);
    for &(predicate, role, _) in &here.sites[site].roles {
        if here.takes(predicate, role, number) {
            match here.predicates[predicate].purpose {
                Purpose::Start => starts |= start_point::is_ahead(),
                purpose if purpose.counts() => counts = true,
                _ => stops = true,
            }
        }
    }
    Some(Arrival { site, counts, stops, starts })
}

/// What the parts of conditions say that a task alone decides at its site.
struct Judged {
    /// Whether such parts hold, or may hold, for a role that is open to it.
    is_worth_holding: bool,
    /// Whether no condition there can hold if they do not, and each write to what they read is a point: the
    /// conditions need not be evaluated because of this arrival.
    is_decided: bool,
}

fn judge(task: &Task, site: usize) -> Judged {
    let here = HERE.prepared.borrow();
    let number = world().current.get();
    let (mut worth, is_decided) = (false, Cell::new(true));
    for &(predicate, role, place) in &here.sites[site].roles {
        if !here.takes(predicate, role, number) {
            continue;
        }
        let of = &here.predicates[predicate];
        if !of.until.is_empty() {
            is_decided.set(false);
        }
        let slot = |slot: usize| match of.slots.get(slot)? {
            Slot::Base(_) => here.bases[predicate].get(slot).copied(),
            Slot::Local { role: of, code } if usize::from(*of) == role => {
                here.local(code.get(place)?, task, number)
            }
            Slot::Local { .. } => None,
        };
        let read = |address: u64, bytes: &mut [u8]| {
            if !is_all_watched(address, bytes.len()) {
                is_decided.set(false);
            }
            here.read(address, bytes)
        };
        let own = &of.roles[role].own;
        worth |= own.iter().all(|code| agent_expression::evaluate(code, &slot, &read) != Some(0));
    }
    Judged { is_worth_holding: worth, is_decided: is_decided.get() }
}

/// Whether a task can take a role of a predicate, is not at its site, and the part of the condition that
/// reads static variables only holds.
pub(crate) fn is_needed(number: u16) -> bool {
    if !HERE.are_there.get() || HERE.lead.get() && !leads() {
        return false;
    }
    // What leads on from the state comes first.
    let first = HERE.first.get();
    if first != 0 {
        return first == u32::from(number) + 1;
    }
    let here = HERE.prepared.borrow();
    let step = world().step.get() + 1;
    // Other strategies evaluate the condition only where tasks are at their sites.
    let seeks = matches!(&root().plan, Plan::Named { name, .. } if name == when::DESCRIPTOR.name);
    if HERE.judged.replace(step) != step {
        let mut open = 0;
        for (at, predicate) in here.predicates.iter().enumerate().take(64) {
            let slot = |slot: usize| match predicate.slots.get(slot)? {
                Slot::Base(_) => here.bases[at].get(slot).copied(),
                Slot::Local { .. } => None,
            };
            let read = |address: u64, bytes: &mut [u8]| {
                if seeks {
                    watch(address, bytes.len());
                }
                here.read(address, bytes)
            };
            let holds = |code: &Vec<u8>| {
                agent_expression::evaluate(code, &slot, &read).is_some_and(|value| value != 0)
            };
            open |= u64::from(predicate.shared.iter().all(holds)) << at;
        }
        HERE.open.set(open);
    }
    let open = HERE.open.get();
    (0..here.predicates.len().min(64)).filter(|at| open >> at & 1 != 0).any(|at| {
        let roles = 0..here.predicates[at].roles.len();
        roles.clone().any(|role| here.takes(at, role, number))
            && !roles.clone().any(|role| here.place(at, role, number).is_some())
    })
}

/// On the manager's stack, before a choice: ends the execution if a predicate is satisfied, or a
/// condition is broken.
pub(crate) fn check() {
    if HERE.count.get() {
        counted::note_blocked();
    }
    let leads = leads();
    HERE.first.set(0);
    if HERE.present.get() < HERE.fewest.get() && !leads {
        return;
    }
    let arrived = HERE.arrived.replace(false);
    if !arrived && keeps_memory(world().last.get()) && !leads {
        return;
    }
    let here = HERE.prepared.borrow();
    let is_watching = world().created.get() > 1;
    for (number, predicate) in here.predicates.iter().enumerate() {
        if matches!(predicate.purpose, Purpose::Note | Purpose::Visit | Purpose::Start) {
            continue;
        }
        let is_open = if predicate.purpose == Purpose::Through {
            leads
        } else if predicate.roles.is_empty() {
            is_watching
        } else {
            HERE.present.get() >= predicate.roles.len()
        };
        if !is_open || HERE.released.get() >> number & 1 != 0 {
            continue;
        }
        if !predicate.until.is_empty() && here.assigned(number, &predicate.until, true).is_some() {
            HERE.released.set(HERE.released.get() | 1 << number);
            continue;
        }
        let wanted = predicate.purpose != Purpose::Always;
        let Some(chosen) = here.assigned(number, &predicate.condition, wanted) else { continue };
        if predicate.purpose == Purpose::Through {
            HERE.first.set(u32::from(chosen[0]) + 1);
            continue;
        }
        // In the learning phase, the instruction that breaks a condition may be no scheduling point yet:
        // the break would be attributed to another instruction. A later execution finds it again.
        if root().is_learning() && !predicate.purpose.is_satisfy() {
            HERE.broke.set(true);
            continue;
        }
        let roles = predicate.roles.iter().zip(&chosen);
        let who: Vec<String> =
            roles.map(|(role, task)| format!("T{task} at {}", site_text(&role.text))).collect();
        let who = if who.is_empty() { String::new() } else { format!(" ({})", who.join(", ")) };
        let text = &predicate.text;
        let (kind, site, detail) = match predicate.purpose {
            Purpose::Satisfy
            | Purpose::Through
            | Purpose::Note
            | Purpose::Visit
            | Purpose::Start => {
                (FailureKind::Satisfied, world().task().site.get(), format!("{text}{who}"))
            }
            Purpose::Always | Purpose::Never => {
                let detail = format!("T{} breaks {text}{who}", world().current.get());
                let site = access::condition_writer().unwrap_or(world().place.get());
                (FailureKind::BrokenCondition, site, detail)
            }
        };
        let mut found = outcome::found(kind, site, detail);
        found.key = outcome::key_of_text(found.key, text);
        drop((who, chosen));
        drop(here);
        outcome::end(End::Failed(Box::new(found)));
    }
}

/// Whether the execution, of the learning phase, broke a condition. How it ends later is not reported:
/// the same execution outside of that phase ends at the break.
pub(crate) fn broke_condition() -> bool {
    HERE.broke.get()
}

/// The part of a role's text that is its site.
fn site_text(role: &str) -> &str {
    role.split_once('@').map_or(role, |(_, site)| site)
}

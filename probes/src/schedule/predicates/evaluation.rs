//! Which tasks can take the roles of a predicate, and the values of its code.

use crate::detect::access;
use crate::detect::learned_points;
use crate::memory::arena;
use crate::state::root::root;
use crate::state::task::Task;
use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;
use std::ops::Range;
use traces::points::InstrumentationGap;
use traces::predicate::{MOST_PLACES, MOST_ROLES, Predicate, Slot, register};
use traces::{Operation, agent_expression};

/// Nothing is mapped below: a condition that follows a null pointer need not ask the kernel.
const LOWEST: u64 = 4096;

/// The most assignments of tasks to roles that one evaluation tries.
pub(super) const MOST_ASSIGNMENTS: u32 = 4096;

/// Which registers the code of a slot reads, by DWARF's numbers, in the order of the instruction
/// encodings, in which probes save them.
const ENCODED: [usize; 16] = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];

/// An instruction at which a predicate wants a task.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) address: u64,
    /// Whether a task is there only when the instruction has read and is about to write.
    pub(super) before_write: bool,
    /// The predicates and roles whose site it is, with its index among their places.
    pub(super) roles: Vec<(usize, usize, usize)>,
    /// The code of its line, with the numbers of inlined calls, and that of its function.
    pub(super) code: Vec<(Range<u64>, u32)>,
    pub(super) function: Range<u64>,
}

/// A thread of a role, in addresses of this process.
#[derive(Debug)]
pub(super) enum Thread {
    Any,
    Number(u16),
    Named(String, Vec<u64>),
}

/// The predicates, in addresses of this process.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    pub(super) predicates: Vec<Predicate>,
    /// For each predicate the thread of each role, and the value of each slot that is an address.
    pub(super) threads: Vec<Vec<Thread>>,
    pub(super) bases: Vec<Vec<u64>>,
    /// Ascending by address; of two at one address, the one before the write is the second.
    pub(super) sites: Vec<Site>,
    /// For each predicate and role its sites, each with its index among the role's places.
    pub(super) sites_of: Vec<Vec<Vec<(usize, usize)>>>,
    /// Memory that can be read without asking the kernel.
    pub(super) variables: Vec<(u64, u64)>,
    /// For each predicate where its slots begin in a task's part of `at_arrival`, and the size of a part.
    pub(super) first_slots: Vec<usize>,
    pub(super) slots: usize,
    /// The operation that a task executes at a site, for predicates that count executions; by task and site.
    pub(super) operations: Vec<Cell<Option<u64>>>,
    /// The values of slots when a task arrived, for predicates that count executions; by task and slot.
    pub(super) at_arrival: Vec<Cell<Option<u64>>>,
}

/// From here on, writes to these bytes by tasks are scheduling points.
pub(super) fn watch(address: u64, len: usize) {
    for word in (address & !7..address.saturating_add(len as u64)).step_by(8) {
        if !learned_points::is_watched(word) && access::are_on() {
            root().learned.borrow().find_watched(word);
        }
    }
}

/// Whether writes to all of these bytes are scheduling points already.
pub(super) fn is_all_watched(address: u64, len: usize) -> bool {
    let mut words = (address & !7..address.saturating_add(len as u64)).step_by(8);
    words.all(learned_points::is_watched) || !access::are_on()
}

impl Prepared {
    /// Whether a role is open to a task.
    pub(super) fn takes(&self, predicate: usize, role: usize, number: u16) -> bool {
        let task = &world().tasks[usize::from(number)];
        match &self.threads[predicate][role] {
            Thread::Any => true,
            Thread::Number(wanted) => *wanted == number,
            Thread::Named(name, functions) => {
                let own = task.name.get();
                let len = own.iter().position(|&byte| byte == 0).unwrap_or(own.len());
                own[..len] == *name.as_bytes() || functions.contains(&task.start.get())
            }
        }
    }

    /// The place of a task among those of a role, if it is at that role's site.
    pub(super) fn place(&self, predicate: usize, role: usize, number: u16) -> Option<usize> {
        let task = &world().tasks[usize::from(number)];
        if self.predicates[predicate].purpose.counts() {
            let passed = task.passed.get();
            let is_there = |site: usize| site < MOST_PLACES && passed >> site & 1 != 0;
            let mut sites = self.sites_of[predicate][role].iter();
            let &(_, place) = sites.find(|&&(site, _)| is_there(site))?;
            return self.takes(predicate, role, number).then_some(place);
        }
        // A task that left its site by a handler or a jump has another operation.
        let site = task.at_site.get().checked_sub(1)?;
        if task.operation.get() != Operation::Depart {
            return None;
        }
        let mut sites = self.sites_of[predicate][role].iter();
        let &(_, place) = sites.find(|&&(other, _)| other == site as usize)?;
        self.takes(predicate, role, number).then_some(place)
    }

    /// The tasks in the roles with which the value of the code is true, or false, as `wanted`.
    pub(super) fn assigned(
        &self,
        predicate: usize,
        code: &[u8],
        wanted: bool,
    ) -> Option<[u16; MOST_ROLES]> {
        let mut chosen = [0; MOST_ROLES];
        let mut left = MOST_ASSIGNMENTS;
        let found = self.assign(predicate, 0, &mut chosen, &mut left, (code, wanted));
        if !found && left == 0 {
            access::note_gap(InstrumentationGap::Assignments);
        }
        found.then_some(chosen)
    }

    /// Assigns tasks to the roles from `role` on so that the code has the wanted value; whether that
    /// is possible.
    pub(super) fn assign(
        &self,
        predicate: usize,
        role: usize,
        chosen: &mut [u16; MOST_ROLES],
        left: &mut u32,
        value: (&[u8], bool),
    ) -> bool {
        let roles = &self.predicates[predicate].roles;
        if role == roles.len() {
            let holds = *left > 0 && self.holds(predicate, chosen, value);
            *left = left.saturating_sub(1);
            return holds;
        }
        let world = world();
        // Equal roles without a name in the condition are taken in the order of the tasks.
        let after = match role.checked_sub(1) {
            // A predicate that counts executions distinguishes its first role.
            Some(last)
                if roles[last] == roles[role]
                    && (last > 0 || !self.predicates[predicate].purpose.counts())
                    && !self.names(predicate, role) =>
            {
                Some(chosen[last])
            }
            _ => None,
        };
        for number in world.alive().filter(|&number| after.is_none_or(|after| number > after)) {
            if *left == 0 {
                return false;
            }
            if chosen[..role].contains(&number) || self.place(predicate, role, number).is_none() {
                continue;
            }
            chosen[role] = number;
            if self.assign(predicate, role + 1, chosen, left, value) {
                return true;
            }
        }
        false
    }

    /// Whether the condition reads a variable of a role equal to this one.
    fn names(&self, predicate: usize, role: usize) -> bool {
        let of = &self.predicates[predicate];
        of.slots.iter().any(|slot| {
            matches!(slot, Slot::Local { role: other, .. }
                if of.roles.get(usize::from(*other)) == Some(&of.roles[role]))
        })
    }

    /// Whether the code has the wanted value with these tasks in the roles. Code that cannot be
    /// evaluated, since it reads memory that is not mapped or divides by zero, is neither true nor
    /// false.
    fn holds(
        &self,
        predicate: usize,
        chosen: &[u16; MOST_ROLES],
        (code, wanted): (&[u8], bool),
    ) -> bool {
        let of = &self.predicates[predicate];
        if code.is_empty() {
            return true;
        }
        let slot = |slot: usize| match of.slots.get(slot)? {
            Slot::Base(_) => self.bases[predicate].get(slot).copied(),
            Slot::Local { role, code } => {
                let number = chosen[usize::from(*role)];
                if of.purpose.counts() {
                    return self.slot_at_arrival(predicate, slot, number)?.get();
                }
                let place = self.place(predicate, usize::from(*role), number)?;
                self.local(code.get(place)?, &world().tasks[usize::from(number)], number)
            }
        };
        let read = |address: u64, bytes: &mut [u8]| {
            watch(address, bytes.len());
            self.read(address, bytes)
        };
        agent_expression::evaluate(code, &slot, &read).is_some_and(|value| (value != 0) == wanted)
    }

    /// The value of a slot's code for a task at a site.
    pub(super) fn local(&self, code: &[u8], task: &Task, number: u16) -> Option<u64> {
        let saved = task.probed.get();
        let registers = |register: usize| {
            if let Some(&at) = ENCODED.get(register) {
                // SAFETY: the task is parked at a probe, or runs in its stub, which saved the
                // sixteen registers there, on the task's stack.
                return (saved != 0).then(|| unsafe { *(saved as *const u64).add(at) });
            }
            match register as u16 {
                register::THREAD_POINTER => Some(task.block.get()),
                register::TASK => Some(number.into()),
                _ => None,
            }
        };
        let read = |address: u64, bytes: &mut [u8]| self.read(address, bytes);
        agent_expression::evaluate(code, &registers, &read)
    }

    /// Reads the program's memory; false if it is not mapped.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Some(end) = address.checked_add(bytes.len() as u64) else { return false };
        if address < LOWEST {
            return false;
        }
        let within = |&(low, high): &(u64, u64)| low <= address && end <= high;
        let is_mapped = self.variables.iter().any(within)
            || within(&arena::used())
            || world().alive().any(|number| within(&in_use(&world().tasks[usize::from(number)])));
        if !is_mapped {
            return raw::read(address, bytes);
        }
        // SAFETY: the range is in a writable segment of a module, in the used part of the heap, or above
        // the stack pointer of a task that has not ended, all of which are mapped.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len());
        }
        true
    }
}

/// The part of a task's stack above the stack pointer with which it was parked, or that its probe saved;
/// empty if it runs on other memory.
fn in_use(task: &Task) -> (u64, u64) {
    let stack = task.stack.get();
    let is_there = |at: &u64| (stack.low..stack.high).contains(at);
    let lowest = [task.sp.get(), task.probed.get()].into_iter().filter(is_there).min();
    lowest.map_or((0, 0), |low| (low, stack.high))
}

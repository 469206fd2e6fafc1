//! Functions of higher layers that lower layers call through pointers.

use crate::debugger::session;
use crate::detect::access;
use crate::executions::own_memory;
use crate::executions::start_point;
use crate::instrument::{binary, freed_memory, monitoring, reuse};
use crate::kernel::polling;
use crate::kernel::{alerts, clients, lost_panics, outside, pass, signal_delivery, timer};
use crate::memory::shared_views;
use crate::schedule::interrupt::{self, Due};
use crate::state::end::End;
use crate::state::task::Gate;
use crate::state::upcalls::{self, Upcalls};
use crate::sys::dispatch;
use traces::Operation;

struct Runtime;

impl Upcalls for Runtime {
    fn execution_ends(&self, end: End) -> End {
        access::end();
        dispatch::allow();
        let end = lost_panics::instead_of(end);
        if crate::sys::stops::is_there() {
            session::ended(&end);
        }
        end
    }

    fn second_task(&self) {
        binary::second_task();
    }

    fn memory_allocated(&self, address: u64, size: u64) {
        access::allocated(address, size);
    }

    fn heap_called(&self, function: &'static str, site: u64) {
        binary::hidden_state::heap_called(function, site);
    }

    fn may_come_back(&self, class: usize) -> bool {
        reuse::may_come_back(class)
    }

    fn comes_back(&self, before: u32) -> bool {
        reuse::comes_back(before)
    }

    fn memory_released(&self, address: u64, size: u64, site: u64) {
        freed_memory::block_freed(address, size, site);
    }

    fn unordered_uses(&self, word: u64, excluded: bool, site: u64) -> bool {
        binary::calls::unordered_uses(word, excluded, site)
    }

    fn met_in_parts(&self, site: u64) {
        binary::parts::met(site);
    }

    fn state_left(&self) {
        pass::leave_trace();
    }

    fn has_left_state(&self) -> bool {
        pass::has_left_traces()
    }

    fn task_alerted(&self, operation: Operation, object: u64, site: u64, gate: Gate) {
        alerts::handle(operation, object, site, gate);
    }

    fn task_parks_signalled(&self) {
        signal_delivery::park_signalled();
    }

    fn yields(&self) -> bool {
        match interrupt::due() {
            Due::Yield => interrupt::yield_now(),
            Due::Continue => {}
            Due::Spins => return false,
        }
        true
    }

    fn start_point_reached(&self) {
        start_point::reached();
        monitoring::begin();
    }

    fn deliver_outside(&self) {
        signal_delivery::deliver_while_parked();
    }

    fn waits_outside(&self, task: u16) -> bool {
        outside::is_waiting(task)
    }

    fn client_waits(&self, task: u16) -> bool {
        clients::waits_for_data(task)
    }

    fn outside_wait(&self, task: u16) -> String {
        outside::describe(task)
    }

    fn is_ready(&self, task: u16, asked: (u32, i16)) -> bool {
        polling::is_ready(task, asked)
    }

    fn canonical(&self, address: u64) -> u64 {
        shared_views::canonical(address)
    }

    fn runs_handler(&self, task: u16) -> bool {
        timer::runs_handler(task)
    }

    fn program_memory(&self) -> Vec<(u64, u64)> {
        own_memory::program_memory()
    }
}

/// Registers the functions of the higher layers.
pub(crate) fn register() {
    upcalls::register(&Runtime);
}

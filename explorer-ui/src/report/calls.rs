//! Steps in the words of the program: the library function that user code called, instead of what
//! that function does to memory.

use replay_core::library_calls::{SiteCall, of_site, of_sites};
use replay_core::locks::{inferred_locks, word_lock_steps};
use std::collections::{HashMap, HashSet};
use traces::{Execution, Operation, Site};

/// The library functions that the steps of an execution belong to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls {
    sites: HashMap<Site, (SiteCall, u32)>,
    /// The steps that acquire or release a lock in a word of memory, ascending.
    locks: Vec<(usize, Operation)>,
    /// The words and futexes of locks that no function of a library names.
    inferred: HashSet<u32>,
}

impl Calls {
    pub(crate) fn of(execution: &Execution) -> Calls {
        let found = of_sites(execution);
        let (locks, inferred) = (word_lock_steps(execution), inferred_locks(execution));
        if found.is_empty() {
            return Calls { sites: HashMap::new(), locks, inferred };
        }
        // Sites of one call are the same function called at the same place of the same function.
        let mut groups: HashMap<(&str, &str, u32, u32, &str), u32> = HashMap::new();
        let mut sites = HashMap::new();
        for (site, frames) in &execution.places {
            let (Some(call), Some(own)) = (found.get(site), frames.first()) else { continue };
            let function = match call {
                SiteCall::Call(call) => call.function.as_str(),
                SiteCall::Internal => "",
            };
            let place = (own.function.as_str(), own.file.as_str(), own.line, own.column, function);
            let next = groups.len() as u32;
            let group = *groups.entry(place).or_insert(next);
            sites.insert(*site, (call.clone(), group));
        }
        Calls { sites, locks, inferred }
    }

    /// What the frames of a site say about libraries.
    pub(crate) fn at(&self, site: Site) -> Option<&SiteCall> {
        self.sites.get(&site).map(|(call, _)| call)
    }

    /// A number that is the same for all sites of one call by user code.
    pub(crate) fn group(&self, site: Site) -> Option<u32> {
        self.sites.get(&site).map(|(_, group)| *group)
    }

    /// Whether an object is the word, or the futex, of a lock that no function of a library names.
    pub(crate) fn is_inferred(&self, object: Option<u32>) -> bool {
        object.is_some_and(|object| self.inferred.contains(&object))
    }

    /// The operation on a lock that a step completes, if the lock is a word of memory.
    pub(crate) fn lock_step(&self, step: usize) -> Option<Operation> {
        let at = self.locks.binary_search_by_key(&step, |(step, _)| *step).ok()?;
        Some(self.locks[at].1)
    }
}

/// The operation that user code asked for at a site: `lock` for an update inside `Mutex::lock`.
pub(crate) fn requested(execution: &Execution, site: Site, operation: Operation) -> Operation {
    if !is_internal(operation) {
        return operation;
    }
    match of_site(execution, site) {
        Some(SiteCall::Call(call)) => call.operation.unwrap_or(operation),
        _ => operation,
    }
}

/// Whether an operation can be a part of what a library function does.
pub(crate) fn is_internal(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::Read
            | O::Write
            | O::Update
            | O::Await
            | O::Yield
            | O::FutexWait
            | O::FutexWoken
            | O::FutexWake
            | O::FutexRequeue
    )
}

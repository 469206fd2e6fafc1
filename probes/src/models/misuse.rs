//! Objects used against their rules: each a failure that names the rule and both places.
//!
//! Where the standard gives a mistake a defined answer (an error-checking mutex, a barrier for
//! nobody) the program gets that answer, and there is no failure. What is left is what POSIX calls
//! undefined: the C library may do anything, and usually does nothing at once.

use crate::failure::{self, End};
use crate::interpose;
use crate::record;
use traces::{FailureKind, Operation};

/// Another place that belongs to a mistake: what happened there, and where.
pub(crate) type Place = (&'static str, u64);

/// A thread is used against the rule that `rule` names. Returns where the user does not want to hear
/// of it.
pub(crate) fn thread(rule: &str, site: u64, places: &[Option<Place>]) {
    report(FailureKind::ThreadMisuse, rule, site, places);
}

/// A lock, a condition variable, a barrier or a semaphore is unlocked, used after it was destroyed,
/// and so on, against the rule that `rule` names. Returns where the user does not want to hear of it.
pub(crate) fn report(kind: FailureKind, rule: &str, site: u64, places: &[Option<Place>]) {
    if !failure::counts(kind) {
        return;
    }
    let mut found = failure::found(kind, site, rule.to_owned());
    found.key = failure::key_of_text(found.key, rule);
    found.places = places.iter().flatten().map(|&(what, site)| (what.to_owned(), site)).collect();
    failure::end_here(End::Failed(Box::new(found)));
}

/// Where this object was last the object of one of these operations, before the call that is being
/// served.
pub(crate) fn last(
    what: &'static str,
    object: u64,
    which: impl Fn(Operation) -> bool,
) -> Option<Place> {
    record::last(object, interpose::site(), which).map(|(_, site)| (what, site))
}

/// Where this lock was taken last.
pub(crate) fn taken(object: u64) -> Option<Place> {
    last("taken", object, Operation::takes)
}

/// Where this lock was given back last.
pub(crate) fn given_back(object: u64) -> Option<Place> {
    last("given back", object, Operation::gives_back)
}

/// Where this object was destroyed last.
pub(crate) fn destroyed(object: u64) -> Option<Place> {
    last("destroyed", object, |operation| {
        use Operation as O;
        matches!(
            operation,
            O::MutexDestroy
                | O::ConditionDestroy
                | O::SemDestroy
                | O::RwDestroy
                | O::BarrierDestroy
                | O::SpinDestroy
        )
    })
}

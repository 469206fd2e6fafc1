//! Misuse of synchronisation objects: each is a failure that names the rule and both sites.
//!
//! Where the standard defines a result for a mistake (an error-checking mutex, a barrier with a
//! count of 0) the program gets that result, and there is no failure. The rest is undefined
//! behaviour in POSIX: the C library may do anything, and usually has no immediate effect.

use crate::memory::arena;
use crate::state::end::End;
use crate::state::outcome;
use crate::steps::record;
use crate::sys::interpose;
use traces::{FailureKind, Operation};

/// A second site that belongs to a mistake: what happened there, and its code address.
pub(crate) type RelatedSite = (&'static str, u64);

/// Reports that a thread is used against the rule that `rule` names. Returns if the user did not
/// ask for this kind of failure.
pub(crate) fn thread(rule: impl Into<String>, site: u64, places: &[Option<RelatedSite>]) {
    report(FailureKind::ThreadMisuse, rule, site, places);
}

/// Reports that a lock, a condition variable, a barrier or a semaphore is used against the rule
/// that `rule` names. Returns if the user did not ask for this kind of failure.
pub(crate) fn report(
    kind: FailureKind,
    rule: impl Into<String>,
    site: u64,
    places: &[Option<RelatedSite>],
) {
    if !outcome::counts(kind) {
        return;
    }
    let mut found = outcome::found(kind, site, rule.into());
    found.key = outcome::key_of_text(found.key, &found.detail);
    found.places = places.iter().flatten().map(|&(what, site)| (what.to_owned(), site)).collect();
    outcome::end_here(End::Failed(Box::new(found)));
}

/// Reports that an object of this name was never initialised or was overwritten, perhaps because its
/// memory was freed. Returns if the user did not ask for this kind of failure.
#[cold]
pub(crate) fn uninitialised(name: &str, object: u64, site: u64) {
    if let Some(found) = arena::freed_object(name, object, site) {
        outcome::end_here(End::Failed(Box::new(found)));
    }
    let rule = format!("a {name} is used but was never initialised, or was overwritten");
    report(FailureKind::Uninitialised, rule, site, &[]);
}

/// The last step with one of these operations on this object, before the call in progress.
pub(crate) fn last(
    what: &'static str,
    object: u64,
    which: impl Fn(Operation) -> bool,
) -> Option<RelatedSite> {
    record::last(object, interpose::site(), which).map(|(_, site)| (what, site))
}

/// The step that locked this lock last.
pub(crate) fn taken(object: u64) -> Option<RelatedSite> {
    last("taken", object, Operation::acquires_lock)
}

/// The step that released this lock last.
pub(crate) fn released(object: u64) -> Option<RelatedSite> {
    last("released", object, Operation::releases_lock)
}

/// The step that destroyed this object last.
pub(crate) fn destroyed(object: u64) -> Option<RelatedSite> {
    last("destroyed", object, Operation::destroys)
}

//! Which probes are removed until the execution ends.

use crate::instrument::binary::probe::{PROBES, Patch, Probe};

/// Which probes are removed, from the fewest to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Removal {
    None,
    /// Some that were reached often. Those of functions that the program executes later are installed.
    Frequent,
    /// All but those at calls with lasting effects.
    ButLasting,
    /// All but sites of predicates.
    ButPredicates,
    All,
}

impl Removal {
    /// Whether a changed range of text is restored, whatever was reached in it.
    pub(super) fn includes(self, patch: &Patch) -> bool {
        match self {
            Removal::None | Removal::Frequent => false,
            Removal::ButLasting => {
                !patch.predicate && probes_in(patch).all(|probe| probe.lasting.is_none())
            }
            Removal::ButPredicates => !patch.predicate,
            Removal::All => true,
        }
    }
}

/// The probes that a patch contains.
pub(super) fn probes_in(patch: &Patch) -> impl Iterator<Item = &'static Probe> + Clone {
    let function = PROBES.function(patch.address);
    let probes = function.map(|(_, function)| PROBES.of(function)).unwrap_or_default();
    let first = probes.partition_point(|probe| probe.address < patch.address);
    let end = patch.address + u64::from(patch.len);
    let here = probes[first..].iter().take_while(move |probe| probe.address < end);
    here.filter(|probe| probe.copy.get() != 0)
}

//! Finds the smallest predicate that is sufficient and necessary. Pure: `count` runs the executions.
//!
//! A conjunction holds only where each of its parts does. So a necessary predicate consists of necessary
//! parts, and only these are put together: first sites, then sites of two threads, then sites with one
//! part of a condition, then with more. Of a conjunction that is exact, parts are left out while it stays
//! exact.

use super::proposal::{Counts, Proposal};
use crate::shrink::Refused;

/// For how many sites conditions are tried.
const MOST_BASES: usize = 16;
/// Of how many parts for one site conjunctions are formed.
const MOST_PARTS: usize = 7;
/// The most candidates that are checked further.
const MOST_EXACT: usize = 48;

/// Counts executions for each of several predicates; none for a predicate that the program does not
/// allow.
pub(super) type Count<'a> = dyn FnMut(&[Proposal]) -> Result<Vec<(Proposal, Counts)>, Refused> + 'a;

/// What is known about the candidates.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Those that were exact in all executions so far, the best first.
    pub(super) exact: Vec<Proposal>,
    /// The others, the best first.
    pub(super) others: Vec<(Proposal, Counts)>,
}

/// The candidates of sites and, if these do not suffice, parts of conditions.
pub(super) fn candidates(
    plain: &[Proposal],
    parts: &dyn Fn(&Proposal) -> Vec<String>,
    is_deadlock: bool,
    count: &mut Count<'_>,
) -> Result<Candidates, Refused> {
    let mut known = count(plain)?;
    // The sites that every failing execution reaches; those that fewest passing executions reach first.
    let mut bases: Vec<(Proposal, Counts)> =
        known.iter().filter(|(_, counts)| counts.is_necessary()).cloned().collect();
    bases.sort_by_key(|(one, counts)| {
        (one.roles.len(), one.cost(is_deadlock).0, counts.with.passing, one.cost(is_deadlock))
    });
    bases.retain(|(_, counts)| !counts.is_sufficient());
    let is_found = |known: &[(Proposal, Counts)]| known.iter().any(|(_, it)| it.is_exact());
    let singles = bases.iter().filter(|(one, _)| one.roles.len() == 1).count();
    // Two threads with a condition only if neither one alone nor two without a condition are exact.
    for (from, to) in [(0, singles.min(MOST_BASES)), (singles, bases.len())] {
        let of = &bases[from.min(bases.len())..to.min(bases.len())];
        let of = &of[..of.len().min(MOST_BASES)];
        if from > 0 && is_found(&known) {
            break;
        }
        let one: Vec<Proposal> = of
            .iter()
            .flat_map(|(base, _)| parts(base).into_iter().map(|part| base.and(&part)))
            .collect();
        let counted = count(&one)?;
        let mut two = Vec::new();
        for (base, counts) in of {
            let mut own: Vec<&(Proposal, Counts)> = counted
                .iter()
                .filter(|(one, it)| {
                    one.roles == base.roles
                        && it.is_necessary()
                        && it.with.passing < counts.with.passing
                })
                .collect();
            if own.iter().any(|(_, it)| it.is_exact()) {
                continue;
            }
            own.sort_by_key(|(one, it)| (it.with.passing, one.cost(is_deadlock)));
            own.truncate(MOST_PARTS);
            for (at, (one, _)) in own.iter().enumerate() {
                for (other, _) in &own[..at] {
                    two.extend(other.condition.first().map(|part| one.and(part)));
                }
            }
            if own.len() > 2 {
                let all = own[1..].iter().filter_map(|(other, _)| other.condition.first());
                two.push(all.fold(own[0].0.clone(), |all, part| all.and(part)));
            }
        }
        known.extend(counted);
        if !is_found(&known) {
            known.extend(count(&two)?);
        }
    }
    let (mut exact, mut others): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|(_, counts)| counts.is_exact());
    exact.sort_by_key(|(one, _)| one.cost(is_deadlock));
    exact.truncate(MOST_EXACT);
    others.sort_by(|(one, counts), (other, more)| {
        let effect = |counts: &Counts| (counts.effect() * 20.0).round();
        effect(more)
            .total_cmp(&effect(counts))
            .then_with(|| one.cost(is_deadlock).cmp(&other.cost(is_deadlock)))
    });
    others.truncate(MOST_PARTS);
    Ok(Candidates { exact: exact.into_iter().map(|(one, _)| one).collect(), others })
}

/// Leaves out parts of an exact predicate while it stays exact.
pub(super) fn minimise(from: Proposal, count: &mut Count<'_>) -> Result<Proposal, Refused> {
    let mut best = from;
    loop {
        let fewer = (0..best.condition.len()).map(|at| {
            let mut fewer = best.clone();
            fewer.condition.remove(at);
            fewer
        });
        let roles = (0..best.roles.len()).filter(|_| best.roles.len() > 1).map(|at| {
            let mut fewer = best.clone();
            fewer.roles.remove(at);
            fewer
        });
        // Without a role its variables are not known: such a predicate is invalid and not counted.
        let fewer: Vec<Proposal> = fewer.chain(roles).collect();
        let exact = count(&fewer)?.into_iter().find(|(_, counts)| counts.is_exact());
        match exact {
            Some((smaller, _)) => best = smaller,
            None => return Ok(best),
        }
    }
}

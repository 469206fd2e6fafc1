//! Makes the probes of a function, without installing them.

use crate::detect::access::note_gap;
use crate::detect::learned_points;
use crate::instrument::binary::decode::Source;
use crate::instrument::binary::hot_probes;
use crate::instrument::binary::operand::{Operand, Target};
use crate::instrument::binary::outline::Function;
use crate::instrument::binary::probe::{OPERANDS, PROBES, Probe};
use crate::instrument::binary::rust_library::LibraryPart;
use crate::instrument::binary::site::Site;
use iced_x86::InstructionInfoFactory;
use std::cell::{Cell, RefCell};
use traces::points::InstrumentationGap;

/// What the decoding of the functions of each module needs, in the order of the modules.
struct Sources(RefCell<Option<(Vec<Source<'static>>, InstructionInfoFactory)>>);
// SAFETY: the controlled process has one kernel thread, and no function of this file holds a borrow while another
// runs.
unsafe impl Sync for Sources {}
static SOURCES: Sources = Sources(RefCell::new(None));

/// Stores what the decoding of the functions of each module needs, in the order of the modules.
pub(super) fn prepare(sources: Vec<Source<'static>>) {
    *SOURCES.0.borrow_mut() = Some((sources, InstructionInfoFactory::new()));
}

/// Makes the probes of a function if it has none. All memory that is allocated is private to this process.
pub(super) fn fill(number: usize, function: &Function) {
    if function.probes.get().is_some() {
        return;
    }
    function.probes.set(Some(0));
    let mut sources = SOURCES.0.borrow_mut();
    let Some((sources, factory)) = sources.as_mut() else { return };
    let module = PROBES.modules().position(|module| module.has(function.start));
    let Some(source) = module.and_then(|at| sources.get(at)) else { return };
    let decoded = source.decode(factory, function);
    let mut filled = 0;
    for site in decoded.sites {
        let spin = decoded.spins.iter().find(|(address, _)| *address == site.address);
        let spin = spin.map_or(0, |&(_, spin)| {
            PROBES.spins.push(spin);
            PROBES.spins.all().len() as u32
        });
        let probe = probe(site, spin);
        PROBES.observes.set(PROBES.observes.get() || !probe.predicate || probe.observes);
        let slot = (function.first + filled) as usize;
        // SAFETY: no slice contains this entry: those of a function's probes end with those that it has.
        if filled == function.room || !unsafe { PROBES.probes.write(slot, probe) } {
            note_gap(InstrumentationGap::Undecoded);
            break;
        }
        filled += 1;
    }
    function.probes.set(Some(filled));
    PROBES.filled.push(number as u32);
}

/// The probe of a site, with the number of its loop that counts its reads, or 0.
fn probe(site: Site, spin: u32) -> Probe {
    let mut operands = [Operand::NOTHING; OPERANDS];
    let count = site.operands.len().min(OPERANDS);
    operands[..count].copy_from_slice(&site.operands[..count]);
    Probe {
        address: site.address,
        behind: site.behind,
        copy: Cell::new(0),
        operands,
        count: count as u8,
        further: site.operands[count..].to_vec().leak(),
        jumps: site.jumps,
        is_single: site.is_single,
        lasting: site.lasting,
        unknown_call: site.unknown_call,
        atomic: site.atomic,
        target: site.target,
        repeats: site.repeats,
        search: site.search,
        bulk: site.bulk,
        string: site.string,
        stack: site.stack,
        spin,
        breakpoint: Cell::new(false),
        predicate: site.predicate,
        library: site.library,
        exchange: site.exchange,
        counting: site.counting,
        observes: count > 0
            || site.library != LibraryPart::None
            || site.unknown_call != 0
            || site.target != Target::Fixed
            || site.lasting.is_some(),
        known: Cell::new(learned_points::is_site(site.behind)),
        counts: hot_probes::Counts::default(),
    }
}

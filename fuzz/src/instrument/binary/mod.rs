//! The decoder over a module made of a fuzzer's input ([`image`]).

#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/bounded_spin.rs"]
mod bounded_spin;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/branch_targets.rs"]
mod branch_targets;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/bulk_functions.rs"]
mod bulk_functions;
mod calls;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/catalogue.rs"]
mod catalogue;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/decode.rs"]
mod decode;
mod file_changes;
mod image;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/library_states.rs"]
mod library_states;
#[path = "../../../../probes/src/instrument/binary/lock_sites.rs"]
mod lock_sites;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/operand.rs"]
mod operand;
mod parts;
#[path = "../../../../probes/src/instrument/binary/rust_library.rs"]
mod rust_library;
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/site.rs"]
mod site;
#[path = "../../../../probes/src/instrument/binary/snooze_sites.rs"]
mod snooze_sites;
#[path = "../../../../probes/src/instrument/binary/vector_operand.rs"]
mod vector_operand;

/// Decodes a module made of `input`, and checks the result.
pub(crate) fn check(input: &[u8]) {
    let end = image::set(input);
    for code in decode::program(None, &[], true, &decode::modules(), &catalogue::Catalogue::new()) {
        assert!(code.covered <= code.bytes, "{} of {}", code.covered, code.bytes);
        let inside = |address: u64| (image::CODE..end).contains(&address);
        for site in &code.sites {
            assert!(inside(site.address) && site.behind > site.address && site.behind <= end);
        }
        assert!(code.sites.is_sorted_by_key(|site| site.address));
        assert!(code.functions.is_sorted_by_key(|function| function.start));
        assert!(code.targets.is_sorted());
    }
}

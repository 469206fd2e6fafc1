//! The decoder over a module made of a fuzzer's input ([`image`]).

#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/address_set.rs"]
mod address_set;
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
#[path = "../../../../probes/src/instrument/binary/counting.rs"]
mod counting;
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
#[allow(dead_code, reason = "the runtime uses the rest")]
#[path = "../../../../probes/src/instrument/binary/outline.rs"]
mod outline;
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
    let inside = |address: u64| (image::CODE..end).contains(&address);
    for image in image::Image::all() {
        let listed = image.text().and_then(|text| image.functions(text)).unwrap_or_default();
        let module = decode::module(&image, calls::Calls(&listed), (true, None, &[]));
        let Some((_, outline, source)) = module else { continue };
        assert!(outline.covered <= outline.bytes, "{} of {}", outline.covered, outline.bytes);
        assert!(outline.functions.is_sorted_by_key(|function| function.start));
        let mut factory = iced_x86::InstructionInfoFactory::new();
        let mut room = 0;
        for function in &outline.functions {
            assert_eq!(function.first, room);
            room += function.room;
            let sites = source.decode(&mut factory, function).sites;
            assert!(sites.len() <= function.room as usize, "the outline leaves too little room");
            for site in &sites {
                assert!(inside(site.address) && site.behind > site.address && site.behind <= end);
            }
            assert!(sites.is_sorted_by_key(|site| site.address));
        }
        assert_eq!(outline.room, room);
    }
}

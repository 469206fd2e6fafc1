//! The files of a crate import each other without cycles.

use std::path::Path;
use tests::style::imports::Imports;

/// A crate, and how many files its largest import cycle may have: the goal, and the present limit.
/// One file means no cycle. The limit is lowered with each cycle that is broken.
const CRATES: [(&str, usize, usize); 5] = [
    ("traces", 1, 5),
    ("search", 1, 1),
    ("probes", 5, 48),
    ("replay-core", 1, 1),
    ("explorer-ui", 5, 5),
];

#[test]
fn import_cycles_among_files_do_not_grow() {
    let mut wrong = String::new();
    for (name, goal, limit) in CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src/lib.rs");
        let largest = Imports::of_crate(&root).largest_component();
        if largest > limit {
            wrong += &format!("{name}: {largest} files import each other, {limit} may\n");
        } else if largest.max(goal) < limit {
            let lower = largest.max(goal);
            wrong += &format!("{name}: lower the limit in this test from {limit} to {lower}\n");
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong}`cargo run -p tests --example import_cycles` lists the imports"
    );
}

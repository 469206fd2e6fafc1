//! The files of a crate import each other without cycles.

use std::path::Path;
use tests::style::imports::Imports;

/// A crate, and how many files its largest import cycle may have: the goal, and the present limit.
/// One file means no cycle. The limit is lowered with each cycle that is broken.
const CRATES: [(&str, usize, usize); 5] = [
    ("traces", 1, 1),
    ("search", 1, 1),
    ("probes", 5, 5),
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

/// The layers of the runtime, from the lowest: a file imports from its own folder and from those
/// before it.
const LAYERS: [&str; 13] = [
    "sys",
    "fiber",
    "state",
    "memory",
    "steps",
    "detect",
    "schedule",
    "instrument",
    "primitives",
    "kernel",
    "debugger",
    "executions",
    "entry",
];

#[test]
fn layers_of_the_runtime_import_from_lower_ones_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probes/src/lib.rs");
    let layer = |file: &Path| {
        let folder = file.components().next().unwrap_or_else(|| panic!("{file:?} has no name"));
        LAYERS.iter().position(|layer| folder.as_os_str() == *layer)
    };
    let mut wrong = String::new();
    for edge in Imports::of_crate(&root).edges {
        let (Some(from), Some(to)) = (layer(&edge.from), layer(&edge.to)) else { continue };
        if to > from {
            wrong += &format!("{}:{}: {}\n", edge.from.display(), edge.line, edge.path);
        }
    }
    assert!(wrong.is_empty(), "imports from a higher layer:\n{wrong}");
}

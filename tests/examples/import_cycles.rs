//! Prints the import cycles among the files of each crate, with the uses that form them: `cargo run
//! -p tests --example import_cycles`.

use std::collections::BTreeMap;
use tests::style::imports::Imports;
use tests::style::repository;

fn main() {
    let root = repository();
    for name in ["traces", "search", "probes", "replay-core", "explorer-ui"] {
        let imports = Imports::of_crate(&root.join(name).join("src/lib.rs"));
        let components = imports.components();
        let sizes: Vec<usize> = components.iter().map(Vec::len).collect();
        println!("{name}: components of {sizes:?} files");
        for component in &components {
            println!("  component of {} files", component.len());
            let mut uses: BTreeMap<_, Vec<String>> = BTreeMap::new();
            for edge in imports.edges_within(component) {
                let use_ = format!("{}:{}", edge.line, edge.path);
                uses.entry((&edge.from, &edge.to)).or_default().push(use_);
            }
            for ((from, to), uses) in uses {
                let (from, to) = (from.display(), to.display());
                println!("    {name}/src/{from} -> {to}  {}", uses.join(" "));
            }
        }
    }
}

//! Which file of a crate imports which, and the cycles among them.
//!
//! An edge leads from a file that uses a name to the file that **defines** it: a re-export is looked
//! through. That a module declares its children, and re-exports what they define, is no edge; that it
//! uses what they define is one. Items under `#[cfg(test)]` do not count.

mod modules;
mod resolve;

use modules::Module;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// That a file uses a name which another file of the crate defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The file that uses the name, relative to the sources of the crate.
    pub from: PathBuf,
    /// The file that defines it.
    pub to: PathBuf,
    /// The line of the use.
    pub line: usize,
    /// The path, as written; of a `use` with the prefix of its braces.
    pub path: String,
}

/// The files of a crate, and the imports among them.
#[derive(Debug, Default)]
pub struct Imports {
    /// All uses, sorted.
    pub edges: Vec<Edge>,
}

impl Imports {
    /// Reads a crate from its root file, such as `src/lib.rs`.
    ///
    /// # Panics
    ///
    /// If a file of it cannot be read.
    #[must_use]
    pub fn of_crate(root: &Path) -> Self {
        let modules = modules::of_crate(root);
        Self::of_modules(&modules)
    }

    fn of_modules(modules: &BTreeMap<Vec<String>, Module>) -> Self {
        let mut edges = Vec::new();
        for (name, module) in modules {
            for (line, path, target) in resolve::uses(modules, name) {
                if target != module.file {
                    let from = module.file.clone();
                    edges.push(Edge { from, to: target, line, path });
                }
            }
        }
        edges.sort();
        edges.dedup();
        Self { edges }
    }

    /// The sets of files that reach each other, larger than one file, the largest first.
    #[must_use]
    pub fn components(&self) -> Vec<Vec<&Path>> {
        let graph: DiGraphMap<&Path, ()> =
            self.edges.iter().map(|edge| (edge.from.as_path(), edge.to.as_path())).collect();
        let mut components = tarjan_scc(&graph);
        components.retain(|files| files.len() > 1);
        components.iter_mut().for_each(|files| files.sort_unstable());
        components.sort_by_key(|files| (usize::MAX - files.len(), files[0]));
        components
    }

    /// The number of files in the largest component; 1 if there is no cycle.
    #[must_use]
    pub fn largest_component(&self) -> usize {
        self.components().first().map_or(1, Vec::len)
    }

    /// The uses among `files`.
    pub fn edges_within<'a>(&'a self, files: &'a [&Path]) -> impl Iterator<Item = &'a Edge> {
        let inside = |file: &Path| files.binary_search(&file).is_ok();
        self.edges.iter().filter(move |edge| inside(&edge.from) && inside(&edge.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let modules = modules::parse("lib.rs".as_ref(), &|path: &Path| {
            let found = files.iter().find(|(name, _)| path == Path::new(name));
            found.map(|&(_, text)| text.to_owned())
        });
        let imports = Imports::of_modules(&modules);
        let show = |edge: &Edge| format!("{} > {}", edge.from.display(), edge.to.display());
        let mut edges: Vec<String> = imports.edges.iter().map(show).collect();
        edges.dedup();
        edges
    }

    #[test]
    fn a_declaration_or_re_export_of_a_child_is_no_edge_but_a_use_is() {
        let child = ("a.rs", "pub fn f() {} pub struct S;");
        assert_eq!(edges(&[("lib.rs", "mod a; pub use a::{f, S};"), child]), [""; 0]);
        assert_eq!(
            edges(&[("lib.rs", "mod a; pub use a::f; fn g() { f() }"), child]),
            ["lib.rs > a.rs"]
        );
        assert_eq!(edges(&[("lib.rs", "mod a; use a::f;"), child]), ["lib.rs > a.rs"]);
        assert_eq!(edges(&[("lib.rs", "mod a; fn g() { a::f() }"), child]), ["lib.rs > a.rs"]);
    }

    #[test]
    fn an_edge_leads_to_the_definition_behind_re_exports_and_aliases() {
        let root = ("lib.rs", "mod a; mod b;");
        let a = ("a/mod.rs", "mod deep; pub use deep::{f as g, *};");
        let deep = ("a/deep.rs", "pub fn f() {} pub const C: u8 = 0;");
        for user in [
            "use crate::a::g;",
            "use crate::a; fn h() { a::g() }",
            "use super::a as x; fn h() { x::C }",
            "use crate::{a::{self as y}}; const D: u8 = y::deep::C;",
            "fn h() { println!(\"{}\", crate::a::C) }",
        ] {
            assert_eq!(edges(&[root, a, deep, ("b.rs", user)]), ["b.rs > a/deep.rs"], "{user}");
        }
    }

    #[test]
    fn inline_modules_globs_and_macros_are_followed() {
        let root = ("lib.rs", "mod a; mod b { mod c; pub fn f() {} }");
        let a = ("a.rs", "#[macro_export] macro_rules! m { () => { $crate::b::f() } }");
        let c = ("b/c.rs", "use super::*; fn g() { m!() }");
        assert_eq!(edges(&[root, a, c]), ["a.rs > lib.rs", "b/c.rs > a.rs", "b/c.rs > lib.rs"]);
    }

    #[test]
    fn tests_comments_strings_and_other_crates_are_no_edges() {
        let root = ("lib.rs", "mod a; fn f() {}");
        let a = (
            "a.rs",
            "// crate::f()\nconst S: &str = \"crate::f\"; use std::fmt; fn g() { x.f::<u8>() }
             #[cfg(test)] mod tests { use crate::f; } #[cfg(test)] use crate::f;",
        );
        assert_eq!(edges(&[root, a]), [""; 0]);
    }

    #[test]
    fn components_are_the_cycles() {
        let root = ("lib.rs", "mod a; mod b; mod c;");
        let modules = modules::parse("lib.rs".as_ref(), &|path: &Path| {
            let text = match path.to_str()? {
                "lib.rs" => root.1,
                "a.rs" => "use crate::b::f;",
                "b.rs" => "pub fn f() {} use crate::c::g;",
                "c.rs" => "pub fn g() { crate::b::f() }",
                _ => return None,
            };
            Some(text.to_owned())
        });
        let imports = Imports::of_modules(&modules);
        assert_eq!(imports.components(), [[Path::new("b.rs"), Path::new("c.rs")]]);
        assert_eq!(imports.edges_within(&imports.components()[0]).count(), 2);
    }
}

//! From a path to the file that defines what it names.

use super::modules::{Binding, Module};
use std::collections::BTreeMap;
use std::path::PathBuf;

type Modules = BTreeMap<Vec<String>, Module>;

/// More re-exports one after another than any program has.
const DEPTH: usize = 16;

/// The target of a path.
enum Target {
    /// A module of the crate.
    Module(Vec<String>),
    /// Something that the module of this name defines.
    Item(Vec<String>),
}

/// What the module `name` uses: line, path as written, and the file that defines it.
pub(super) fn uses(modules: &Modules, name: &[String]) -> Vec<(usize, String, PathBuf)> {
    let module = &modules[name];
    let mut uses = Vec::new();
    let file = |owner: &[String]| modules[owner].file.clone();
    for binding in &module.bindings {
        match resolve(modules, name, &binding.path, DEPTH) {
            // Uses of a module show in the paths that begin with it.
            Some(Target::Module(_)) if binding.name != "*" => {}
            Some(Target::Module(owner) | Target::Item(owner))
                if !re_exports(module, name, binding, &owner) =>
            {
                uses.push((binding.line, binding.path.join("::"), file(&owner)));
            }
            _ => {}
        }
    }
    for (path, line) in &module.paths {
        if let Some(Target::Item(owner)) = resolve(modules, name, path, DEPTH) {
            uses.push((*line, path.join("::"), file(&owner)));
        }
    }
    uses
}

/// Whether the module only passes on what a module below it defines.
fn re_exports(module: &Module, name: &[String], binding: &Binding, owner: &[String]) -> bool {
    binding.exported && owner.starts_with(name) && !module.names.contains(&binding.name)
}

/// What `path` means in the module `from`; none if it is of another crate, or local to a function.
fn resolve(modules: &Modules, from: &[String], path: &[String], depth: usize) -> Option<Target> {
    let mut module = from.to_vec();
    let mut segments = path;
    let mut anchored = false;
    while let [first, rest @ ..] = segments {
        match first.as_str() {
            "crate" => module.clear(),
            "self" => {}
            "super" => {
                module.pop();
            }
            _ => break,
        }
        (segments, anchored) = (rest, true);
    }
    let Some((first, mut rest)) = segments.split_first() else {
        return Some(Target::Module(module));
    };
    let mut name = first;
    loop {
        match lookup(modules, &module, name, depth) {
            Some(Target::Module(found)) => module = found,
            Some(item) => return Some(item),
            None if anchored => return Some(Target::Item(module)),
            None => return None,
        }
        anchored = true;
        let Some((first, others)) = rest.split_first() else {
            return Some(Target::Module(module));
        };
        (name, rest) = (first, others);
    }
}

/// The target of `name` in `module`.
fn lookup(modules: &Modules, module: &[String], name: &str, depth: usize) -> Option<Target> {
    let depth = depth.checked_sub(1)?;
    let contents = modules.get(module)?;
    if contents.children.contains(name) {
        let mut child = module.to_vec();
        child.push(name.into());
        // A module behind `#[cfg(...)]` whose file is not there.
        return modules.contains_key(&child).then_some(Target::Module(child));
    }
    if contents.items.contains(name) {
        return Some(Target::Item(module.to_vec()));
    }
    for binding in contents.bindings.iter().filter(|binding| binding.name == name) {
        // `use x;` in a module without an `x` names a crate.
        if binding.path.len() == 1 && binding.path[0] == name {
            continue;
        }
        if let Some(target) = resolve(modules, module, &binding.path, depth) {
            return Some(target);
        }
    }
    for glob in contents.bindings.iter().filter(|binding| binding.name == "*") {
        if let Some(Target::Module(found)) = resolve(modules, module, &glob.path, depth)
            && let Some(target) = lookup(modules, &found, name, depth)
        {
            return Some(target);
        }
    }
    // An exported macro is found at the root, and in the code below its definition.
    let exporter = modules.iter().find(|(_, module)| module.macros.contains(name))?;
    Some(Target::Item(exporter.0.clone()))
}

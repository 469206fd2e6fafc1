//! The modules of a crate, with the names they define and the paths they use.

use crate::style::lexer::{Kind, Language, Token, tokens};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// A name that a `use` brings into a module.
#[derive(Debug)]
pub(super) struct Binding {
    /// The name; of a glob `*`, of `as _` the underscore.
    pub(super) name: String,
    /// The path that the name refers to.
    pub(super) path: Vec<String>,
    /// The line of the name.
    pub(super) line: usize,
    /// Whether the name is visible outside the module.
    pub(super) exported: bool,
}

/// A module, in its own file or inline.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The file it is written in, relative to the root file's folder.
    pub(super) file: PathBuf,
    /// The modules it declares.
    pub(super) children: BTreeSet<String>,
    /// The items it defines.
    pub(super) items: BTreeSet<String>,
    /// The macros it exports to the root of the crate.
    pub(super) macros: BTreeSet<String>,
    /// The names that its `use` declarations define, including those inside functions.
    pub(super) bindings: Vec<Binding>,
    /// The paths of two or more segments in its code, and the macros it calls, with their lines.
    pub(super) paths: Vec<(Vec<String>, usize)>,
    /// The names that stand alone in its code.
    pub(super) names: BTreeSet<String>,
}

/// The modules of the crate with the root file `root`.
pub(super) fn of_crate(root: &Path) -> BTreeMap<Vec<String>, Module> {
    let folder = root.parent().unwrap_or(Path::new("."));
    let name = Path::new(root.file_name().expect("a root file"));
    let modules = parse(name, &|file: &Path| read_to_string(folder.join(file)).ok());
    assert!(!modules.is_empty(), "cannot read {}", root.display());
    modules
}

/// The modules reachable from `root`, read with `read`.
pub(super) fn parse(
    root: &Path,
    read: &dyn Fn(&Path) -> Option<String>,
) -> BTreeMap<Vec<String>, Module> {
    let mut modules = BTreeMap::new();
    let mut pending = vec![(Vec::new(), vec![root.to_path_buf()])];
    while let Some((name, candidates)) = pending.pop() {
        let Some((file, text)) =
            candidates.into_iter().find_map(|file| read(&file).map(|text| (file, text)))
        else {
            continue;
        };
        let stem = file.file_stem().unwrap_or_default();
        let folder = file.parent().unwrap_or(Path::new(""));
        let inside =
            if name.is_empty() || stem == "mod" { folder.into() } else { folder.join(stem) };
        let mut code = tokens(&text, Language::Rust);
        code.retain(|token| token.kind != Kind::Comment);
        let mut parser =
            Parser { code: &code, at: 0, file: &file, modules: &mut modules, files: vec![] };
        parser.module(&name, &inside, folder);
        pending.append(&mut parser.files);
    }
    modules
}

/// A module, and the files that it may be in.
type Declared = (Vec<String>, Vec<PathBuf>);

struct Parser<'a> {
    code: &'a [Token<'a>],
    at: usize,
    file: &'a Path,
    modules: &'a mut BTreeMap<Vec<String>, Module>,
    files: Vec<Declared>,
}

impl<'a> Parser<'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.code.get(self.at + ahead).copied()
    }

    fn is(&self, ahead: usize, text: &str) -> bool {
        self.peek(ahead).is_some_and(|token| token.is(text))
    }

    /// The name at `ahead`, if there is one.
    fn ident(&self, ahead: usize) -> Option<&'a str> {
        self.peek(ahead).filter(|token| token.kind == Kind::Ident).map(|token| token.text)
    }

    /// Reads the module `name` up to its closing brace or the end of the file. Files of its children
    /// are in `inside`; those that an attribute names, in `folder`.
    fn module(&mut self, name: &[String], inside: &Path, folder: &Path) {
        let mut module = Module { file: self.file.into(), ..Module::default() };
        let (mut depth, mut exported, mut exports_macro, mut path) = (0_usize, false, false, None);
        while let Some(token) = self.peek(0) {
            if token.is("#") && (self.is(1, "[") || self.is(1, "!")) {
                let attribute = self.attribute();
                match attribute.as_slice() {
                    [cfg, open, test, ..]
                        if cfg.names("cfg") && open.is("(") && test.names("test") =>
                    {
                        self.skip_item();
                    }
                    [name, ..] if name.names("macro_export") => exports_macro = true,
                    [name, equals, text] if name.names("path") && equals.is("=") => {
                        path = Some(text.text);
                    }
                    _ => {}
                }
                continue;
            }
            if token.is("{") {
                depth += 1;
            } else if token.is("}") {
                if depth == 0 {
                    break;
                }
                depth -= 1;
            }
            if token.kind != Kind::Ident {
                self.at += 1;
                if token.is(";") || token.is("}") {
                    (exported, exports_macro) = (false, false);
                }
                continue;
            }
            match (token.text, self.ident(1)) {
                ("pub", _) => {
                    exported = true;
                    self.at += 1;
                    if self.is(0, "(") {
                        self.skip_group();
                    }
                }
                ("mod", Some(child)) if self.is(2, ";") || self.is(2, "{") => {
                    module.children.insert(child.into());
                    let mut name = name.to_vec();
                    name.push(child.into());
                    self.at += 3;
                    if self.code[self.at - 1].is("{") {
                        self.module(&name, &inside.join(child), &inside.join(child));
                        self.at += 1;
                    } else {
                        let file = inside.join(child);
                        let files = match path {
                            Some(path) => vec![folder.join(path)],
                            None => vec![file.with_extension("rs"), file.join("mod.rs")],
                        };
                        self.files.push((name, files));
                    }
                    (path, exported) = (None, false);
                }
                ("use", _) if !self.is(1, "<") => {
                    self.at += 1;
                    self.use_tree(&[], exported, &mut module.bindings);
                    exported = false;
                }
                ("macro_rules", _) if self.is(1, "!") => {
                    if let Some(name) = self.ident(2) {
                        let names =
                            if exports_macro { &mut module.macros } else { &mut module.items };
                        names.insert(name.into());
                    }
                    self.at += 3;
                }
                (
                    "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static",
                    Some(name),
                ) if depth == 0 => {
                    let name = if name == "mut" { self.ident(2).unwrap_or(name) } else { name };
                    // `const fn` and `unsafe fn`: the name comes after `fn`.
                    if !matches!(name, "fn" | "unsafe" | "extern" | "async") {
                        module.items.insert(name.into());
                    }
                    self.at += if matches!(name, "fn" | "unsafe" | "extern") { 1 } else { 2 };
                }
                _ => self.path(&mut module),
            }
        }
        self.modules.insert(name.to_vec(), module);
    }

    /// Reads an attribute; returns what is between its brackets.
    fn attribute(&mut self) -> Vec<Token<'a>> {
        self.at += if self.is(1, "!") { 2 } else { 1 };
        let begin = self.at + 1;
        self.skip_group();
        self.code.get(begin..self.at.saturating_sub(1)).unwrap_or_default().to_vec()
    }

    /// Advances behind the group whose opening delimiter is next.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            self.at += 1;
            if ["(", "[", "{"].iter().any(|open| token.is(open)) {
                depth += 1;
            } else if [")", "]", "}"].iter().any(|close| token.is(close)) {
                depth -= 1;
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Advances behind the item, statement, field or variant that is next.
    fn skip_item(&mut self) {
        while self.is(0, "#") {
            self.attribute();
        }
        let begin = self.at;
        while let Some(token) = self.peek(0) {
            let ends = token.is(";") || token.is(",");
            if token.is("{") || token.is("(") || token.is("[") {
                self.skip_group();
                let import = self.code[begin..self.at].iter().any(|token| token.names("use"));
                if token.is("{") && !import {
                    return;
                }
            } else if token.is("}") {
                return;
            } else {
                self.at += 1;
                if ends {
                    return;
                }
            }
        }
    }

    /// Reads what follows `use`, or a branch of it, behind `prefix`.
    fn use_tree(&mut self, prefix: &[String], exported: bool, bindings: &mut Vec<Binding>) {
        let mut path = prefix.to_vec();
        while let Some(token) = self.peek(0) {
            let line = token.line;
            self.at += 1;
            let mut bind = |name: &str, path: &[String]| {
                bindings.push(Binding { name: name.into(), path: path.to_vec(), line, exported });
            };
            if token.is("{") {
                while self.peek(0).is_some() && !self.is(0, "}") {
                    self.use_tree(&path, exported, bindings);
                    self.at += usize::from(self.is(0, ","));
                }
                self.at += 1;
                return;
            } else if token.is("*") {
                bind("*", &path);
                return;
            } else if token.kind == Kind::Ident {
                if token.text != "self" || path.is_empty() {
                    path.push(token.text.into());
                }
                if self.is(0, "::") {
                    continue;
                }
                let renamed = self.peek(0).filter(|token| token.names("as")).and(self.ident(1));
                self.at += if renamed.is_some() { 2 } else { 0 };
                bind(renamed.unwrap_or(path.last().map_or("", String::as_str)), &path);
                return;
            } else if !token.is("::") {
                return;
            }
        }
    }

    /// Reads the path that begins with the next name.
    fn path(&mut self, module: &mut Module) {
        let before = self.at.checked_sub(1).map(|at| self.code[at]);
        let line = self.code[self.at].line;
        let mut path = vec![self.code[self.at].text.to_owned()];
        self.at += 1;
        while self.is(0, "::") {
            let Some(name) = self.ident(1) else { break };
            path.push(name.into());
            self.at += 2;
        }
        // A field, a method, or what follows `<T as Trait>::` or a turbofish.
        if before.is_some_and(|token| token.is(".") || token.is("::")) {
            return;
        }
        if path.len() > 1 || self.is(0, "!") {
            module.paths.push((path, line));
        } else {
            module.names.extend(path);
        }
    }
}

//! A cause as statements of `heddle.h` or `heddle.rs` for the program's source. Pure.

use super::proposal::{Proposal, SiteOfThread};
use crate::explain::source::{InsertionPoint, Language, Source};
use crate::predicates::{Operand, Worth};
use std::collections::BTreeSet;
use std::path::Path;

/// A line to insert into the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    /// The path of the file.
    pub path: String,
    /// The line before which it goes, or which it replaces.
    pub line: u32,
    /// The statement.
    pub code: String,
    /// Whether it replaces the line.
    pub replaces: bool,
}

/// What the lines depend on.
pub(super) trait Program {
    /// How the source at a site reads a variable, which may be a local one there.
    fn operand(
        &self,
        site: &SiteOfThread,
        name: &str,
        is_local: bool,
        language: Language,
    ) -> Option<Operand>;

    /// A source file.
    fn source(&self, path: &str) -> Option<Source>;
}

/// Why a cause cannot be written in the source.
pub(super) type Reason = String;

/// The lines that make the threads wait for the cause. The reason if no statement can say it.
pub(super) fn insertions(
    cause: &Proposal,
    program: &dyn Program,
) -> Result<Vec<Insertion>, Reason> {
    if cause.roles.iter().any(|role| role.write) {
        return Err("a thread is between the read and the write of one line".to_owned());
    }
    let mut own: Vec<Vec<String>> = vec![Vec::new(); cause.roles.len()];
    for part in &cause.condition {
        let readers: Vec<usize> = (0..cause.roles.len())
            .filter(|&role| unqualified(part, &cause.local(role, "")) != *part)
            .collect();
        let role = match readers[..] {
            [] => 0,
            [role] => role,
            _ => return Err("no statement can read the local variables of two threads".to_owned()),
        };
        own[role].push(condition(part, cause, role, program)?);
    }
    // Two threads at one line execute the same statement, which has the priority of the first one.
    let mut at_lines: Vec<(&SiteOfThread, String, usize)> = Vec::new();
    for (number, (role, parts)) in cause.roles.iter().zip(own).enumerate() {
        let always = if is_rust(&role.path) { "true" } else { "1" };
        let holds = if parts.is_empty() { always.to_owned() } else { parts.join(" && ") };
        let known =
            at_lines.iter().find(|(one, ..)| (&one.path, one.line) == (&role.path, role.line));
        match known {
            Some((_, other, _)) if *other != holds => {
                return Err("two threads need different conditions at one line".to_owned());
            }
            Some(_) => {}
            None => at_lines.push((role, holds, cause.roles.len() - 1 - number)),
        }
    }
    let others = cause.roles.len() - 1;
    let paths: BTreeSet<&str> = cause.roles.iter().map(|role| &*role.path).collect();
    let mut all = declarations(&paths, program)?;
    for (role, holds, priority) in at_lines {
        all.push(placed(role, &statement(&role.path, &holds, others, priority), program)?);
    }
    Ok(all)
}

/// A statement without effect. An argument without a token is an error before C99 and C++11.
const NOTHING: &str = "(void)0";

/// A statement with which a thread waits.
fn statement(path: &str, holds: &str, others: usize, priority: usize) -> String {
    if is_rust(path) {
        let count = match others {
            0 => "None".to_owned(),
            _ => format!("Exactly({others})"),
        };
        return format!(
            "HEDDLE_GROUP.others(heddle::Others::{count}).priority({priority})\
             .run(|| {{}}, || {holds}, || {{}}, || {{}}, || {{}});"
        );
    }
    let count = if others == 0 { "HEDDLE_NONE" } else { "HEDDLE_EXACTLY" };
    format!(
        "heddle_cp(&heddle_group, {NOTHING}, {holds}, {count}, {others}, {priority}, {NOTHING}, \
         {NOTHING}, {NOTHING});"
    )
}

/// The statement at its place in front of a line.
fn placed(
    role: &SiteOfThread,
    statement: &str,
    program: &dyn Program,
) -> Result<Insertion, Reason> {
    let (path, line) = (role.path.clone(), role.line);
    let source = program.source(&path).ok_or_else(|| format!("{path} cannot be read"))?;
    match source.insertion_point(line) {
        Some(InsertionPoint::Before(line)) => {
            Ok(Insertion { path, line, code: statement.to_owned(), replaces: false })
        }
        Some(InsertionPoint::Around(body)) => {
            let code = format!("{{ {statement} {body} }}");
            Ok(Insertion { path, line, code, replaces: true })
        }
        None => Err(format!("line {line} of {} does not begin a statement", role.file())),
    }
}

/// What declares the group of threads that the statements name.
fn declarations(paths: &BTreeSet<&str>, program: &dyn Program) -> Result<Vec<Insertion>, Reason> {
    let are_several = paths.len() > 1;
    if are_several && paths.iter().any(|path| is_rust(path)) {
        return Err("the threads are in several modules of a Rust program".to_owned());
    }
    let mut all = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let source = program.source(path).ok_or_else(|| format!("{path} cannot be read"))?;
        let line = source.first_declaration().unwrap_or(1);
        let lines = match (is_rust(path), are_several, number) {
            (true, ..) => [
                "#[path = \"heddle.rs\"] mod heddle;",
                "static HEDDLE_GROUP: heddle::Group = heddle::Group::new();",
            ],
            (_, false, _) => {
                ["#include \"heddle.h\"", "static heddle_cp_group heddle_group = HEDDLE_CP_GROUP;"]
            }
            (_, true, 0) => {
                ["#include \"heddle.h\"", "heddle_cp_group heddle_group = HEDDLE_CP_GROUP;"]
            }
            _ => ["#include \"heddle.h\"", "extern heddle_cp_group heddle_group;"],
        };
        all.extend(lines.map(|code| Insertion {
            path: (*path).to_owned(),
            line,
            code: code.to_owned(),
            replaces: false,
        }));
    }
    Ok(all)
}

/// A part of the condition as the source at a role's line writes it.
fn condition(
    part: &str,
    cause: &Proposal,
    role: usize,
    program: &dyn Program,
) -> Result<String, Reason> {
    let site = &cause.roles[role];
    let qualifier = cause.local(role, "");
    let sign = [" == ", " != ", " < ", " > "].into_iter().find(|sign| part.contains(sign));
    let Some((left, right)) = sign.and_then(|sign| part.rsplit_once(sign)) else {
        return Err(format!("no statement can read {part}"));
    };
    let of = |text: &str| side(text, &qualifier, site, program);
    let (left, right) = (of(left)?, of(right)?);
    let sign = sign.unwrap_or_default();
    Ok(match language(&site.path) {
        Language::Rust => in_rust(&left, sign, &right),
        Language::C | Language::Cpp => in_c(&left, sign, &right),
    })
}

/// One side of a comparison.
enum Side {
    Number(i64),
    Variable(Operand),
    /// An element of an array: its type is not known.
    Element(String),
}

fn side(
    text: &str,
    qualifier: &str,
    site: &SiteOfThread,
    program: &dyn Program,
) -> Result<Side, Reason> {
    if let Ok(number) = text.parse() {
        return Ok(Side::Number(number));
    }
    let name = unqualified(text, qualifier);
    let language = language(&site.path);
    let hidden = || format!("{name} is not visible at line {} of {}", site.line, site.file());
    let source = program.source(&site.path).ok_or_else(hidden)?;
    for (word, is_local) in roots(text, qualifier) {
        if !is_visible(&source, &word, is_local, site.line, language) {
            return Err(hidden());
        }
    }
    if name.contains('[') {
        return match language {
            Language::C | Language::Cpp => Ok(Side::Element(name)),
            Language::Rust => Err(format!("no statement can read {name}")),
        };
    }
    let operand = program.operand(site, &name, name != text, language);
    operand.map(Side::Variable).ok_or_else(|| format!("no statement can read {name}"))
}

fn in_c(left: &Side, sign: &str, right: &Side) -> String {
    let are_pointers = [left, right].iter().all(|one| {
        matches!(one, Side::Variable(of) if matches!(of.worth, Worth::Pointer | Worth::SmartPointer))
    });
    let of = |one: &Side| match one {
        Side::Number(number) => number.to_string(),
        Side::Element(text) => text.clone(),
        Side::Variable(Operand { text, worth }) => match worth {
            // Pointers of different types cannot be compared, and a scoped enumeration with no number.
            Worth::SmartPointer if are_pointers => format!("(const void *){text}.get()"),
            Worth::Pointer if are_pointers => format!("(const void *){text}"),
            Worth::Enumeration => format!("(long){text}"),
            _ => text.clone(),
        },
    };
    format!("{}{sign}{}", of(left), of(right))
}

fn in_rust(left: &Side, sign: &str, right: &Side) -> String {
    let plain = match (left, right) {
        (Side::Variable(one), Side::Variable(other)) => one.worth == other.worth,
        (Side::Variable(one), Side::Number(number))
        | (Side::Number(number), Side::Variable(one)) => {
            *number >= 0 && matches!(one.worth, Worth::Integer(_))
        }
        _ => true,
    };
    let of = |one: &Side| match one {
        Side::Number(number) => number.to_string(),
        Side::Element(text) => text.clone(),
        Side::Variable(Operand { text, worth }) => match worth {
            Worth::Enumeration => format!("({text} as i128)"),
            _ if plain => text.clone(),
            Worth::Pointer => format!("({text} as usize as i128)"),
            _ => format!("({text} as i128)"),
        },
    };
    format!("{}{sign}{}", of(left), of(right))
}

/// The variables of an expression, and whether each is a local one.
fn roots(text: &str, qualifier: &str) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut rest = text;
    let mut before = "";
    while !rest.is_empty() {
        let is_local = rest.starts_with(qualifier);
        rest = if is_local { &rest[qualifier.len()..] } else { rest };
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let is_name = word.starts_with(|it: char| it.is_alphabetic() || it == '_');
        if is_name && (is_local || !before.ends_with('.') && !before.ends_with("->")) {
            all.push((word.to_owned(), is_local));
        }
        let next = behind.find(|it| is_part(it) || it == '$').unwrap_or(behind.len());
        before = &behind[..next];
        rest = &behind[next..];
    }
    all
}

/// Whether the source at a line can name a variable. A local one is declared before the line; one with
/// static storage may be declared in a header, if the function names it.
fn is_visible(source: &Source, name: &str, is_local: bool, line: u32, language: Language) -> bool {
    let function = source.function(line, 0).map_or(line..=line, |it| it.lines);
    let before = *function.start()..=line.saturating_sub(1);
    if is_local {
        return source.mentions(name, &before, false);
    }
    let declared = if language == Language::Rust { 1..=source.len() } else { 1..=line };
    source.mentions(name, &declared, true) || source.mentions(name, &function, false)
}

/// A text without the qualifier in front of local variables.
fn unqualified(text: &str, qualifier: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(qualifier) {
        let is_within = rest[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_');
        plain += &rest[..at];
        plain += if is_within { qualifier } else { "" };
        rest = &rest[at + qualifier.len()..];
    }
    plain + rest
}

fn is_rust(path: &str) -> bool {
    language(path) == Language::Rust
}

fn language(path: &str) -> Language {
    Language::of(Path::new(path)).unwrap_or(Language::C)
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: &str = "static int len, *top; // far\nvoid g(void) { static int inner; inner++; }\n\
                     void f(void)\n{\n  int own = len;\n  if (own)\n    use(own);\n  int late = inner_of(own);\n}\n";
    const RUST: &str = "static LEN: AtomicUsize = AtomicUsize::new(0);\nfn f() {\n    let own = 1;\n    \
                        g(own);\n}\n";

    struct Known;

    impl Program for Known {
        fn operand(
            &self,
            _: &SiteOfThread,
            name: &str,
            _: bool,
            language: Language,
        ) -> Option<Operand> {
            let load = "LEN.load(std::sync::atomic::Ordering::SeqCst)";
            let worth = match name {
                "top" => Worth::Pointer,
                "READY" => Worth::Boolean,
                "secret" => return None,
                _ => Worth::Integer("int".into()),
            };
            let text = if language == Language::Rust && name == "LEN" { load } else { name };
            Some(Operand { text: text.to_owned(), worth })
        }

        fn source(&self, path: &str) -> Option<Source> {
            let text = if is_rust(path) { RUST } else { C };
            Some(Source::of(text.as_bytes(), Language::of(Path::new(path))))
        }
    }

    fn site(path: &str, line: u32) -> SiteOfThread {
        SiteOfThread {
            thread: "*".into(),
            path: path.into(),
            line,
            text: None,
            locks: false,
            write: false,
            step: 0,
            lateness: 0,
        }
    }

    fn codes(roles: Vec<SiteOfThread>, condition: &[&str]) -> Result<Vec<String>, String> {
        let condition = condition.iter().map(|&part| part.to_owned()).collect();
        let all = insertions(&Proposal { roles, condition }, &Known)?;
        Ok(all.iter().map(|one| format!("{} {} {}", one.line, one.replaces, one.code)).collect())
    }

    #[test]
    fn each_thread_waits_with_its_part_of_the_condition() {
        let two = vec![site("a.c", 7), site("a.c", 8)];
        let found = codes(two.clone(), &["$1.own == 2", "len < 0", "$2.own != len"]);
        assert_eq!(
            found.expect("a statement says it"),
            [
                "1 false #include \"heddle.h\"",
                "1 false static heddle_cp_group heddle_group = HEDDLE_CP_GROUP;",
                "7 true { heddle_cp(&heddle_group, (void)0, own == 2 && len < 0, HEDDLE_EXACTLY, 1, 1, \
                 (void)0, (void)0, (void)0); use(own); }",
                "8 false heddle_cp(&heddle_group, (void)0, own != len, HEDDLE_EXACTLY, 1, 0, (void)0, \
                 (void)0, (void)0);",
            ]
        );
        let reason = |condition: &[&str]| codes(two.clone(), condition).expect_err("none says it");
        assert_eq!(
            reason(&["$1.own == $2.own"]),
            "no statement can read the local variables of two threads"
        );
        // Declared behind the line, and in another function.
        assert_eq!(reason(&["$2.late == 0"]), "late is not visible at line 8 of a.c");
        assert_eq!(reason(&["inner == 0"]), "inner is not visible at line 7 of a.c");
        assert_eq!(reason(&["$1.own"]), "no statement can read $1.own");
        let same = vec![site("a.c", 8), site("a.c", 8)];
        assert_eq!(codes(same.clone(), &[]).expect("a statement says it").len(), 3);
        assert_eq!(
            codes(same, &["$1.own == 0"]).expect_err("none says it"),
            "two threads need different conditions at one line"
        );
        let write = SiteOfThread { write: true, ..site("a.c", 8) };
        assert_eq!(
            codes(vec![write], &[]).expect_err("none says it"),
            "a thread is between the read and the write of one line"
        );
        assert_eq!(
            codes(vec![site("a.c", 4)], &[]).expect_err("a brace"),
            "line 4 of a.c does not begin a statement"
        );
        assert_eq!(
            codes(vec![site("a.rs", 4), site("b.rs", 4)], &[]).expect_err("two modules"),
            "the threads are in several modules of a Rust program"
        );
    }

    #[test]
    fn a_condition_in_rust_loads_atomic_variables_and_compares_equal_types() {
        let of = |part: &str| codes(vec![site("a.rs", 4)], &[part]);
        let found = of("LEN == 1").expect("a statement says it");
        assert_eq!(
            found[2],
            "4 false HEDDLE_GROUP.others(heddle::Others::None).priority(0).run(|| {}, || \
             LEN.load(std::sync::atomic::Ordering::SeqCst) == 1, || {}, || {}, || {});"
        );
        let found = of("$1.own != LEN").expect("a statement says it");
        assert!(found[2].contains("|| own != LEN.load("), "{found:?}");
        let found = of("LEN < 0").expect("a statement says it");
        assert!(found[2].contains("|| LEN.load("), "{found:?}");
        assert_eq!(found[0], "1 false #[path = \"heddle.rs\"] mod heddle;");
        assert!(of("READY == 1").is_err());
        let reason = |part: &str| of(part).expect_err("none says it");
        assert_eq!(reason("LEN[0] == 1"), "no statement can read LEN[0]");
    }

    #[test]
    fn operands_of_different_types_are_compared_as_wide_integers() {
        let variable = |text: &str, worth| Side::Variable(Operand { text: text.to_owned(), worth });
        let integer = || variable("len", Worth::Integer("u8".into()));
        for (left, right, expected) in [
            (integer(), Side::Number(1), "len == 1"),
            (integer(), Side::Number(-1), "(len as i128) == -1"),
            (variable("top", Worth::Pointer), Side::Number(0), "(top as usize as i128) == 0"),
            (variable("kind", Worth::Enumeration), integer(), "(kind as i128) == (len as i128)"),
            (variable("top", Worth::Pointer), variable("end", Worth::Pointer), "top == end"),
        ] {
            assert_eq!(in_rust(&left, " == ", &right), expected);
        }
    }
}

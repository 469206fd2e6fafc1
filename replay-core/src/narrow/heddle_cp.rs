//! A cause as statements of `heddle.h` or `heddle.rs` for the program's source. Pure.

use super::proposal::Proposal;
use std::path::Path;

/// A line to insert into the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    /// The path of the file.
    pub path: String,
    /// The line before which it goes.
    pub line: u32,
    /// The statement.
    pub code: String,
}

/// The statements that make the threads wait for the cause; none if a thread's part of the condition
/// reads the local variables of another thread, which no expression at its line can name, two threads
/// need different conditions at one line, or a thread is between the read and the write of one line.
#[must_use]
pub fn insertions(cause: &Proposal) -> Option<Vec<Insertion>> {
    if cause.roles.iter().any(|role| role.write) {
        return None;
    }
    let mut own: Vec<Vec<String>> = vec![Vec::new(); cause.roles.len()];
    for part in &cause.condition {
        let readers: Vec<usize> = (0..cause.roles.len())
            .filter(|&role| part.split(' ').any(|word| word.starts_with(&cause.local(role, ""))))
            .collect();
        let role = match readers[..] {
            [] => 0,
            [role] => role,
            _ => return None,
        };
        let prefix = cause.local(role, "");
        let plain: Vec<&str> =
            part.split(' ').map(|word| word.strip_prefix(&prefix).unwrap_or(word)).collect();
        own[role].push(plain.join(" "));
    }
    let others = cause.roles.len() - 1;
    let all = cause.roles.iter().zip(own).enumerate().map(|(at, (role, parts))| {
        let always = if is_rust(&role.path) { "true" } else { "1" };
        let holds = if parts.is_empty() { always.to_owned() } else { parts.join(" && ") };
        let priority = cause.roles.len() - 1 - at;
        let code = if is_rust(&role.path) {
            let count =
                if others == 0 { "Others::None".to_owned() } else { format!("Others::Exactly({others})") };
            format!(
                "GROUP.others({count}).priority({priority}).run(|| {{}}, || {holds}, || {{}}, || {{}}, || {{}});"
            )
        } else {
            let count = if others == 0 { "HEDDLE_NONE" } else { "HEDDLE_EXACTLY" };
            format!("heddle_cp(&group, , {holds}, {count}, {others}, {priority}, , , );")
        };
        (Insertion { path: role.path.clone(), line: role.line, code }, holds)
    });
    // Two threads at one line execute the same statement.
    let mut lines: Vec<(Insertion, String)> = Vec::new();
    for (one, holds) in all {
        let is_there =
            |(known, _): &&(Insertion, String)| (&known.path, known.line) == (&one.path, one.line);
        match lines.iter().find(is_there) {
            Some((_, known)) if *known != holds => return None,
            Some(_) => {}
            None => lines.push((one, holds)),
        }
    }
    Some(lines.into_iter().map(|(one, _)| one).collect())
}

/// What declares the group of threads that the statements name, for a source file.
#[must_use]
pub fn declaration(path: &str) -> &'static str {
    match is_rust(path) {
        true => "static GROUP: heddle::Group = heddle::Group::new();",
        false => "#include \"heddle.h\"  static heddle_cp_group group = HEDDLE_CP_GROUP;",
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

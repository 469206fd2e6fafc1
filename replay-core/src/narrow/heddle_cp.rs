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
/// reads the local variables of another thread, which no expression at its line can name.
#[must_use]
pub fn insertions(cause: &Proposal) -> Option<Vec<Insertion>> {
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
        let holds = if parts.is_empty() { None } else { Some(parts.join(" && ")) };
        let priority = cause.roles.len() - 1 - at;
        let is_rust = Path::new(&role.path).extension().is_some_and(|it| it == "rs");
        let code = if is_rust {
            let holds = holds.unwrap_or_else(|| "true".to_owned());
            let count =
                if others == 0 { "Others::None".to_owned() } else { format!("Others::Exactly({others})") };
            format!(
                "GROUP.others({count}).priority({priority}).run(|| {{}}, || {holds}, || {{}}, || {{}}, || {{}});"
            )
        } else {
            let holds = holds.unwrap_or_else(|| "1".to_owned());
            let count = if others == 0 { "HEDDLE_NONE" } else { "HEDDLE_EXACTLY" };
            format!("heddle_cp(&group, , {holds}, {count}, {others}, {priority}, , , );")
        };
        Insertion { path: role.path.clone(), line: role.line, code }
    });
    Some(all.collect())
}

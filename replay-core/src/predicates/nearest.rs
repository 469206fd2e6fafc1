//! Names like one that does not exist.

/// The names that are most like `wanted`, the best first, at most three.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<(usize, &str)> = names
        .filter(|name| !name.is_empty())
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, name)| {
            *distance <= 1 + wanted.len().max(name.len()) / 3
                || wanted.len() > 2 && name.contains(wanted)
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// `; did you mean a, b or c?`, or nothing.
pub(super) fn offer(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; the nearest name is {one}"),
        [rest @ .., last] => format!("; the nearest names are {} and {last}", rest.join(", ")),
    }
}

/// The number of characters to insert, delete or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().take(64).enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (column, theirs) in other.iter().enumerate() {
            let replaced = corner + usize::from(letter != *theirs);
            corner = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_offered() {
        let names = ["push", "pop", "queue_push", "unrelated", "pusher"];
        assert_eq!(nearest("pusg", names.into_iter())[0], "push");
        assert_eq!(nearest("push", names.into_iter()), ["push", "pusher", "queue_push"]);
        assert_eq!(offer(&[]), "");
        assert_eq!(offer(&["a".into(), "b".into()]), "; the nearest names are a and b");
    }
}

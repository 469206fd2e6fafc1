//! Patterns with `*` and `?`.

/// Whether a text matches a pattern, in which `*` stands for any text and `?` for one character.
pub(crate) fn matches(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut with) = (0, 0);
    // The position of the last star, and where the text after its match starts.
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(with) {
            Some('*') => {
                star = Some((with, at));
                with += 1;
            }
            Some(&one) if one == '?' || one == text[at] => (at, with) = (at + 1, with + 1),
            _ => match &mut star {
                Some((stands, taken)) => {
                    *taken += 1;
                    (at, with) = (*taken, *stands + 1);
                }
                None => return false,
            },
        }
    }
    pattern[with..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let fits =
            [("push", "push"), ("queue::push", "queue::*"), ("a", "*"), ("", "*"), ("abab", "*ab")];
        for (text, pattern) in fits.into_iter().chain([("abc", "a?c"), ("a.b.c", "*.*")]) {
            assert!(matches(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in
            [("push", "pus"), ("push", "ush"), ("", "?"), ("abc", "*d"), ("aa", "a")]
        {
            assert!(!matches(text, pattern), "{text} {pattern}");
        }
    }
}

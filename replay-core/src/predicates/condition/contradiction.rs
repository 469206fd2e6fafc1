//! Two parts of a condition that cannot both hold. Only what is certain from the text counts: comparisons of
//! one expression with small numbers, and of the same two expressions. Pure.

/// The outcomes of a comparison that an operator allows.
const LESS: u8 = 1;
const EQUAL: u8 = 2;
const GREATER: u8 = 4;

/// A part of a condition that compares two expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    left: String,
    right: String,
    allowed: u8,
    /// The value of the right side, if it is a small number: its sign does not depend on a type.
    number: Option<i64>,
}

impl Comparison {
    /// From the texts of its sides and its operator; the value of a side if it is constant.
    pub(super) fn new(
        (left, left_value): (&str, Option<u64>),
        sign: &str,
        (right, right_value): (&str, Option<u64>),
    ) -> Option<Comparison> {
        let allowed = match sign {
            "==" => EQUAL,
            "!=" => LESS | GREATER,
            "<" => LESS,
            "<=" => LESS | EQUAL,
            ">" => GREATER,
            ">=" => GREATER | EQUAL,
            _ => return None,
        };
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let small =
            |value: Option<u64>| value.and_then(|value| i32::try_from(value).ok()).map(i64::from);
        let (left, right) = (bare(left), bare(right));
        // A number, or else the greater text, is on the right.
        let is_turned = left_value.is_some() || right_value.is_none() && left > right;
        Some(match is_turned {
            false => Comparison { left, right, allowed, number: small(right_value) },
            true => Comparison {
                left: right,
                right: left,
                allowed: turned(allowed),
                number: small(left_value),
            },
        })
    }

    /// Whether both cannot hold.
    pub(super) fn contradicts(&self, other: &Comparison) -> bool {
        if self.left != other.left {
            return false;
        }
        match (self.number, other.number) {
            (Some(one), Some(two)) => {
                // Between any two numbers, and beyond them, one sample stands for all.
                let samples = [one, two].into_iter().flat_map(|at| [at - 1, at, at + 1]);
                let mut both = samples.filter(|&at| self.allows(at, one) && other.allows(at, two));
                both.next().is_none()
            }
            _ => self.right == other.right && self.allowed & other.allowed == 0,
        }
    }

    fn allows(&self, value: i64, number: i64) -> bool {
        let outcome = match value.cmp(&number) {
            std::cmp::Ordering::Less => LESS,
            std::cmp::Ordering::Equal => EQUAL,
            std::cmp::Ordering::Greater => GREATER,
        };
        self.allowed & outcome != 0
    }
}

/// The outcomes with the sides exchanged.
fn turned(allowed: u8) -> u8 {
    let less = if allowed & LESS != 0 { GREATER } else { 0 };
    let greater = if allowed & GREATER != 0 { LESS } else { 0 };
    less | greater | allowed & EQUAL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Comparison {
        let words: Vec<&str> = text.split(' ').collect();
        let value = |word: &str| word.parse().ok();
        let [left, sign, right] = words[..] else { panic!("{text}") };
        Comparison::new((left, value(left)), sign, (right, value(right))).expect("a comparison")
    }

    #[test]
    fn only_comparisons_that_exclude_each_other_contradict() {
        for (one, other, expected) in [
            ("x == 1", "x == 2", true),
            ("x == 1", "x != 1", true),
            ("x > 3", "x < 2", true),
            ("x > 3", "x < 4", true),
            ("2 < x", "x <= 2", true),
            ("x == y", "y != x", true),
            ("x < y", "x > y", true),
            ("x == 1", "x <= 1", false),
            ("x > 3", "x < 5", false),
            ("x != 1", "x != 2", false),
            ("x == 1", "y == 2", false),
            ("x <= y", "y <= x", false),
            // A variable without a sign can have both.
            ("x > 3", "x == 18446744073709551615", false),
        ] {
            assert_eq!(of(one).contradicts(&of(other)), expected, "{one}, {other}");
            assert_eq!(of(other).contradicts(&of(one)), expected, "{other}, {one}");
        }
    }
}

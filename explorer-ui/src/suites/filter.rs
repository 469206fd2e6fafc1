//! Which tests are asked for, by their names.

use super::framework::Listed;

/// The filters of the command line, with the meaning that libtest gives them.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// A test must contain one of these texts; without any, all tests do.
    pub texts: Vec<String>,
    /// A test must contain none of these.
    pub skip: Vec<String>,
    /// The texts are whole names.
    pub exact: bool,
    /// Which tests that the framework ignores are asked for.
    pub ignored: Ignored,
}

/// Which ignored tests are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ignored {
    /// None: they are named and not run.
    #[default]
    Left,
    /// Only these.
    Only,
    /// These and the others.
    Included,
}

impl Filter {
    /// Whether the filters ask for a test of this name. `suite` is the program's name: a text also
    /// matches `SUITE TEST`, as reports name the test.
    #[must_use]
    pub fn matches(&self, suite: &str, test: &Listed) -> bool {
        let full = format!("{suite} {}", test.name);
        let one = |text: &String| match self.exact {
            true => *text == test.name || *text == full,
            false => full.contains(text.as_str()),
        };
        let is_kind = self.ignored != Ignored::Only || test.ignored;
        is_kind
            && (self.texts.is_empty() || self.texts.iter().any(one))
            && !self.skip.iter().any(one)
    }

    /// Whether the test is run, if [`Filter::matches`] accepts it.
    #[must_use]
    pub fn runs(&self, test: &Listed) -> bool {
        !test.ignored || self.ignored != Ignored::Left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_those_of_libtest() {
        let test = Listed::new("queue::lost");
        let off = Listed { ignored: true, ..Listed::new("queue::off") };
        let filter = |texts: &[&str], skip: &[&str], exact, ignored| Filter {
            texts: texts.iter().map(|&text| text.to_owned()).collect(),
            skip: skip.iter().map(|&text| text.to_owned()).collect(),
            exact,
            ignored,
        };
        for (texts, skip, exact, ignored, expected) in [
            (&[][..], &[][..], false, Ignored::Left, true),
            (&["lost"], &[], false, Ignored::Left, true),
            (&["lost"], &[], true, Ignored::Left, false),
            (&["queue::lost"], &[], true, Ignored::Left, true),
            (&["lib queue::lost"], &[], true, Ignored::Left, true),
            (&["kept"], &[], false, Ignored::Left, false),
            (&[], &["queue"], false, Ignored::Left, false),
            (&[], &[], false, Ignored::Only, false),
        ] {
            let filter = filter(texts, skip, exact, ignored);
            assert_eq!(filter.matches("lib", &test), expected, "{filter:?}");
        }
        let left = filter(&[], &[], false, Ignored::Left);
        assert!(left.matches("lib", &off) && !left.runs(&off) && left.runs(&test));
        assert!(filter(&[], &[], false, Ignored::Only).runs(&off));
    }
}

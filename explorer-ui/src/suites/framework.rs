//! What each test framework's file describes.

use traces::TaskRecord;

/// A test framework: how to recognise it, list its tests, and run one.
#[derive(Debug)]
pub struct Framework {
    /// The name in reports.
    pub name: &'static str,
    /// Texts of which a program with this framework contains at least one: names of functions or
    /// libraries that it is linked with, or messages of the framework.
    pub markers: &'static [&'static str],
    /// The arguments that list the tests.
    pub listing: &'static [&'static str],
    /// The arguments of a second listing, and what it lists.
    pub second: Option<Second>,
    /// The arguments of a listing that names no test: what it names anyway, the program prints itself.
    pub empty: Option<&'static [&'static str]>,
    /// The tests that a listing names; `None` if the text is no listing of this framework.
    pub parse: fn(&Listing<'_>) -> Option<Vec<Listed>>,
    /// The arguments that run exactly this test.
    pub select: fn(&Listed) -> Vec<String>,
    /// Whether the output of a run says that it ran exactly one test.
    pub ran_one: fn(&str) -> bool,
    /// Whether a failed check aborts the process, so that no output says how many tests ran.
    pub aborts: bool,
    /// Whether the framework created one of these tasks for the test of this name, so that main belongs to
    /// the framework.
    pub has_own_thread: fn(&[TaskRecord], &str) -> bool,
    /// Why tests of this framework cannot be explored, if they cannot.
    pub unsupported: Option<&'static str>,
}

/// A second listing, which distinguishes ignored tests from the others.
#[derive(Debug, Clone, Copy)]
pub enum Second {
    /// The listing names the ignored tests only; the first named all.
    Ignored(&'static [&'static str]),
    /// The listing names all tests; the first named those that are not ignored.
    All(&'static [&'static str]),
}

impl Second {
    /// The arguments.
    #[must_use]
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Second::Ignored(arguments) | Second::All(arguments) => arguments,
        }
    }
}

/// What a program printed when it was asked for its tests.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a> {
    /// Its standard output.
    pub stdout: &'a str,
    /// Its standard error.
    pub stderr: &'a str,
}

/// A test that a listing names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name, as the framework's filter takes it.
    pub name: String,
    /// Whether the framework runs the test only on request.
    pub ignored: bool,
}

impl Listed {
    /// A test that is not ignored.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Listed {
        Listed { name: name.into(), ignored: false }
    }
}

impl Framework {
    /// The tests of both listings, in the order in which the longer one names them.
    #[must_use]
    pub fn combine(&self, first: Vec<Listed>, second: Vec<Listed>) -> Vec<Listed> {
        let has = |list: &[Listed], name: &str| list.iter().any(|test| test.name == name);
        match self.second {
            None => first,
            Some(Second::Ignored(_)) => {
                let ignored = |test: Listed| Listed {
                    ignored: test.ignored || has(&second, &test.name),
                    ..test
                };
                first.into_iter().map(ignored).collect()
            }
            Some(Second::All(_)) => {
                let ignored = |test: Listed| Listed {
                    ignored: test.ignored || !has(&first, &test.name),
                    ..test
                };
                second.into_iter().map(ignored).collect()
            }
        }
    }
}

/// The tests of a listing without those that the program prints itself, which the empty listing names as
/// well. A harness that prints all of its tests there does not know the option.
#[must_use]
pub fn without_printed(listed: Vec<Listed>, printed: &[Listed]) -> Vec<Listed> {
    let is_printed = |test: &Listed| printed.iter().any(|other| other.name == test.name);
    match listed.iter().all(is_printed) {
        true => listed,
        false => listed.into_iter().filter(|test| !is_printed(test)).collect(),
    }
}

/// The framework runs each test in main.
pub(super) fn has_no_thread(_: &[TaskRecord], _: &str) -> bool {
    false
}

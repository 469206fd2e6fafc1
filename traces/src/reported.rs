//! The failure that a test framework printed before the process ended with a status other than 0.
//!
//! GoogleTest, Catch2, doctest and Boost.Test continue after a failed check, and report it in the exit status:
//! by then the stack of the check no longer exists. What they printed has its place.

/// The most lines, and characters, of a message.
const LINES: usize = 8;
const LENGTH: usize = 300;

/// A failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// `queue_test.cpp:12`, as printed; empty if the framework does not know it.
    pub place: String,
    /// What failed, on one line, without the place.
    pub text: String,
}

impl Reported {
    /// Both, in the form of a failed `assert`.
    #[must_use]
    pub fn message(&self) -> String {
        match self.place.as_str() {
            "" => self.text.clone(),
            place => format!("{place}: {}", self.text),
        }
    }
}

/// Reads a failed check of one framework that begins at the first of these lines.
type Reader = fn(&[&str]) -> Option<Reported>;

/// The first failed check in what a program printed, if a framework printed it.
#[must_use]
pub fn reported(output: &str) -> Option<Reported> {
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    let reads: &[Reader] = match () {
        () if has_line(&lines, "[ RUN      ] ") => &[googletest],
        () if has_line(&lines, "running 1 test") => &[libtest],
        () if has_line(&lines, "[doctest] ") => &[doctest],
        // Catch2 repeats the name of the test above the failure; Boost.Test counts tests first.
        () if has_line(&lines, "Running ") => &[boost, catch2],
        () => &[catch2],
    };
    (0..lines.len()).find_map(|at| reads.iter().find_map(|read| read(&lines[at..])))
}

/// The failed assertion of GLib that a program printed last, before it aborted:
/// `ERROR:queue.c:16:test_lost: assertion failed (value == 2): (1 == 2)`.
#[must_use]
pub fn reported_by_glib(output: &str) -> Option<Reported> {
    let line = output.lines().rev().find(|line| line.contains("ERROR:"))?;
    let (domain, rest) = line.split_once("ERROR:")?;
    let domain = domain.strip_prefix("Bail out! ").unwrap_or(domain);
    let is_domain = domain.is_empty() || (domain.ends_with(':') && !domain.contains(' '));
    let (file, rest) = rest.split_once(':')?;
    let (line, rest) = rest.split_once(':')?;
    let (function, text) = rest.split_once(": ")?;
    let is_name = |text: &str| !text.is_empty() && !text.contains(' ');
    let is_it = is_domain && is_name(file) && is_number(line) && is_name(function);
    is_it.then(|| Reported {
        place: format!("{file}:{line}"),
        text: joined(&[&format!("{function}: {text}")]),
    })
}

/// `queue_test.cc:12: Failure`, and what was expected, up to an empty line, the next failure or event.
fn googletest(lines: &[&str]) -> Option<Reported> {
    let head = lines[0].strip_suffix(": Failure")?;
    let place = place(head).or((head == "unknown file").then_some(""))?;
    let is_end =
        |line: &&&str| line.is_empty() || line.starts_with('[') || line.ends_with(": Failure");
    let text: Vec<&str> = lines[1..].iter().take_while(|line| !is_end(line)).copied().collect();
    Some(Reported { place: place.to_owned(), text: joined(&text) })
}

/// `queue_test.cpp:12: FAILED:`, and the expression, up to an empty line.
fn catch2(lines: &[&str]) -> Option<Reported> {
    let place = place(lines[0].strip_suffix(": FAILED:")?)?;
    let text: Vec<&str> = lines[1..].iter().take_while(|line| !line.is_empty()).copied().collect();
    Some(Reported { place: place.to_owned(), text: joined(&text) })
}

/// `queue_test.cpp:12: ERROR: CHECK( a == 2 ) is NOT correct!`, and the values.
fn doctest(lines: &[&str]) -> Option<Reported> {
    let at = [": ERROR: ", ": FATAL ERROR: "].iter().find_map(|mark| {
        let (head, text) = lines[0].split_once(mark)?;
        Some((place(head)?, text))
    });
    let (place, text) = at?;
    let more = lines[1..].iter().take_while(|line| !line.is_empty()).copied();
    let text: Vec<&str> = std::iter::once(text).chain(more).collect();
    Some(Reported { place: place.to_owned(), text: joined(&text) })
}

/// `queue_test.cpp(12): error: in "suite/test": check a == 2 has failed [1 != 2]`. The place of an
/// exception is `unknown location(0)`.
fn boost(lines: &[&str]) -> Option<Reported> {
    let at = ["): error: in \"", "): fatal error: in \""].iter().find_map(|mark| {
        let (head, rest) = lines[0].split_once(mark)?;
        let (file, line) = head.rsplit_once('(')?;
        let (_, text) = rest.split_once("\": ")?;
        (is_number(line) && !file.is_empty()).then_some((file, line, text))
    });
    let (file, line, text) = at?;
    let place = match line {
        "0" => String::new(),
        _ => format!("{file}:{line}"),
    };
    Some(Reported { place, text: joined(&[text]) })
}

/// What Rust's harness prints of a test that fails without a panic.
fn libtest(lines: &[&str]) -> Option<Reported> {
    without_expected_panic(lines[0]).or_else(|| returned_error(lines))
}

/// `note: test did not panic as expected at src/lib.rs:7:5`: a test with `#[should_panic]`. Early versions of
/// Rust's harness print no place.
fn without_expected_panic(line: &str) -> Option<Reported> {
    const TEXT: &str = "test did not panic as expected";
    let rest = line.strip_prefix("note: ")?.strip_prefix(TEXT)?;
    let column = rest.strip_prefix(" at ").and_then(|at| at.rsplit_once(':'));
    let place = column.and_then(|(at, _)| place(at)).unwrap_or_default();
    Some(Reported { place: place.to_owned(), text: TEXT.to_owned() })
}

/// `Error: NotFound`: a test that returned an error. The harness knows no place. Where it does not capture the
/// output, it has begun the line with the name of the test, and a result follows.
fn returned_error(lines: &[&str]) -> Option<Reported> {
    let behind_name = || lines[0].strip_prefix("test ")?.split_once(" ... Error: ");
    let first =
        lines[0].strip_prefix("Error: ").or_else(|| behind_name().map(|(_, error)| error))?;
    let is_end = |line: &&&str| line.is_empty() || **line == "FAILED";
    let more = lines[1..].iter().take_while(|line| !is_end(line)).copied();
    let text: Vec<&str> = ["the test returned an error:", first].into_iter().chain(more).collect();
    Some(Reported { place: String::new(), text: joined(&text) })
}

fn has_line(lines: &[&str], start: &str) -> bool {
    lines.iter().any(|line| line.starts_with(start))
}

/// The text, if it is `FILE:LINE`.
fn place(text: &str) -> Option<&str> {
    let (file, line) = text.rsplit_once(':')?;
    (!file.is_empty() && is_number(line)).then_some(text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// One line, with single spaces.
fn joined(lines: &[&str]) -> String {
    let words: Vec<&str> =
        lines.iter().take(LINES).flat_map(|line| line.split_whitespace()).collect();
    words.join(" ").chars().take(LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(output: &str) -> Option<String> {
        reported(output).map(|reported| reported.message())
    }

    #[test]
    fn the_first_failed_check_of_each_framework_is_found() {
        for (output, expected) in [
            (
                "[ RUN      ] Counter.Lost\nsrc/a b.cc:30: Failure\nExpected equality of these \
                 values:\n  add()\n    Which is: 1\n  2\nsrc/a.cc:31: Failure\nFailed\n[  FAILED  ] \
                 Counter.Lost (0 ms)\n",
                "src/a b.cc:30: Expected equality of these values: add() Which is: 1 2",
            ),
            (
                "[ RUN      ] Counter.Lost\nunknown file: Failure\nC++ exception with description \
                 \"boo\" thrown in the test body.\n",
                "C++ exception with description \"boo\" thrown in the test body.",
            ),
            (
                "----\nlost\n----\na.cpp:23\n....\n\na.cpp:24: FAILED:\n  REQUIRE( add() == 2 )\nwith \
                 expansion:\n  1 == 2\n\n=====\n",
                "a.cpp:24: REQUIRE( add() == 2 ) with expansion: 1 == 2",
            ),
            (
                "[doctest] run with \"--help\" for options\na.cpp:23:\nTEST CASE:  lost\n\na.cpp:24: \
                 ERROR: CHECK( add() == 2 ) is NOT correct!\n  values: CHECK( 1 == 2 )\n\n",
                "a.cpp:24: CHECK( add() == 2 ) is NOT correct! values: CHECK( 1 == 2 )",
            ),
            (
                "[doctest] run with \"--help\" for options\na.cpp:23:\nTEST CASE:  lost\n\na.cpp:24: \
                 FATAL ERROR: REQUIRE( add() == 2 ) is NOT correct!\n\n",
                "a.cpp:24: REQUIRE( add() == 2 ) is NOT correct!",
            ),
            (
                "Running 1 test case...\na.cpp(26): error: in \"counter/lost\": check add() == 2 has \
                 failed [1 != 2]\n\n*** 1 failure\n",
                "a.cpp:26: check add() == 2 has failed [1 != 2]",
            ),
            (
                "Running 1 test case...\nunknown location(0): fatal error: in \"lost\": \
                 std::runtime_error: boo\n",
                "std::runtime_error: boo",
            ),
            (
                "running 1 test\ntest lost - should panic ... FAILED\n\n---- lost stdout ----\nnote: test \
                 did not panic as expected at src/lib.rs:7:5\n",
                "src/lib.rs:7: test did not panic as expected",
            ),
            (
                "running 1 test\ntest lost ... FAILED\n\nfailures:\n\n---- lost stdout ----\nError: \
                 NotFound\n\n\nfailures:\n    lost\n",
                "the test returned an error: NotFound",
            ),
            (
                "running 1 test\ntest lost ... Error: NotFound\nFAILED\n\nfailures:\n",
                "the test returned an error: NotFound",
            ),
        ] {
            assert_eq!(message(output).as_deref(), Some(expected), "{output}");
        }
    }

    #[test]
    fn what_no_framework_printed_is_no_failed_check() {
        for output in [
            "",
            "a.cpp:24: Failure\n",
            "a.cpp:24: ERROR: no\n",
            "test: FAILED:\n",
            "[ RUN      ] A.B\nnetwork: Failure\n[       OK ] A.B (0 ms)\n",
            "a.cpp(26): error: in \"x\": no\n",
        ] {
            assert_eq!(message(output), None, "{output}");
        }
    }

    #[test]
    fn assertions_of_glib_have_place_function_and_values() {
        let found = |output: &str| reported_by_glib(output).map(|reported| reported.message());
        let expected = Some("src/a.c:16:lost: assertion failed (value == 2): (1 == 2)");
        for output in [
            "**\nERROR:src/a.c:16:lost: assertion failed (value == 2): (1 == 2)\n",
            "# x\nBail out! GLib:ERROR:src/a.c:16:lost: assertion failed (value == 2): (1 == 2)\n",
        ] {
            let spaced = expected.map(|text| text.replacen(":lost", ": lost", 1));
            assert_eq!(found(output), spaced, "{output}");
        }
        for output in ["", "ERROR: a.c:16:lost: no\n", "an ERROR:a.c:16:lost: no\n"] {
            assert_eq!(found(output), None, "{output}");
        }
    }
}

//! The frameworks that `heddle test` knows.

use super::framework::Framework;
use super::{boost, catch2, criterion, doctest, glib, googletest, libtest};

/// One line for each framework, in the order in which programs are asked.
pub const FRAMEWORKS: &[Framework] = &[
    libtest::FRAMEWORK,
    googletest::FRAMEWORK,
    catch2::VERSION_2,
    catch2::VERSION_3,
    doctest::FRAMEWORK,
    boost::FRAMEWORK,
    criterion::FRAMEWORK,
    glib::FRAMEWORK,
];

/// The frameworks that a program may use, judged by the content of its file. Only these are asked
/// for their tests: a program that does not know the option may run everything instead.
pub fn candidates(content: &[u8]) -> impl Iterator<Item = &'static Framework> {
    let markers: Vec<&[u8]> =
        FRAMEWORKS.iter().flat_map(|framework| framework.markers).map(|m| m.as_bytes()).collect();
    let found = contained(content, &markers);
    FRAMEWORKS.iter().filter(move |framework| {
        framework.markers.iter().any(|marker| found.contains(&marker.as_bytes()))
    })
}

/// Whether a program contains the tests of documentation that rustdoc compiles into one program. It does not
/// read its arguments, so that none of them can be run alone.
#[must_use]
pub fn is_documentation(content: &[u8]) -> bool {
    !contained(content, &[b"RUSTDOC_DOCTEST_RUN_NB_TEST"]).is_empty()
}

/// Those of the texts that occur in the content. Test programs have tens of megabytes, so most places are
/// passed over by one look at their first two bytes.
fn contained<'a>(content: &[u8], texts: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let pair = |bytes: &[u8]| usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
    let mut begins = vec![false; 1 << 16];
    let mut missing: Vec<&'a [u8]> = texts.iter().filter(|text| text.len() > 1).copied().collect();
    missing.iter().for_each(|text| begins[pair(text)] = true);
    let mut found = Vec::new();
    for (at, bytes) in content.windows(2).enumerate() {
        if !begins[pair(bytes)] {
            continue;
        }
        missing.retain(|text| {
            let is_here = content[at..].starts_with(text);
            if is_here {
                found.push(*text);
            }
            !is_here
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_follow_from_the_content_alone() {
        let names = |content: &str| -> Vec<&str> {
            candidates(content.as_bytes()).map(|framework| framework.name).collect()
        };
        assert_eq!(names("\0RUST_TEST_THREADS\0"), ["libtest"]);
        assert_eq!(names("..libgtest.so.1.12..g_test_init"), ["googletest", "GLib"]);
        assert_eq!(names("--list-test-names-only 5Catch7Session"), ["Catch2", "Catch2"]);
        assert_eq!(names("an ordinary program"), [""; 0]);
        assert!(is_documentation(b"\0RUSTDOC_DOCTEST_RUN_NB_TEST\0"));
        assert!(!is_documentation(b"\0RUST_TEST_THREADS\0"));
    }
}

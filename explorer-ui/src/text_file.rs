//! Texts that another user may have written: configuration, notes, lists. All of them are short.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The most megabytes of a text that the user named.
const MOST_NAMED: u64 = 64;
/// The most megabytes of a text that is used because it is there.
const MOST_FOUND: u64 = 16;

/// Reads a text that the user named. It may be a pipe.
///
/// # Errors
/// If it cannot be read, is too long, or is not UTF-8.
pub(crate) fn named(path: &Path) -> io::Result<String> {
    limited(File::open(path)?, MOST_NAMED)
}

/// Reads a text that is used because it is there, and that may have come with the files of a stranger.
/// Devices and pipes could be without an end, or never answer.
///
/// # Errors
/// As [`named`], and if it is not a regular file.
pub(crate) fn found(path: &Path) -> io::Result<String> {
    let kind = fs::metadata(path)?.file_type();
    // That of a directory cannot be read, which the kernel says.
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::other("it is not a regular file"));
    }
    limited(File::open(path)?, MOST_FOUND)
}

fn limited(file: File, megabytes: u64) -> io::Result<String> {
    let mut text = String::new();
    file.take((megabytes << 20) + 1).read_to_string(&mut text)?;
    match text.len() as u64 > megabytes << 20 {
        true => Err(io::Error::other(format!("it is larger than {megabytes} MB"))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_text_without_an_end_is_refused() {
        let endless = Path::new("/dev/zero");
        assert_eq!(named(endless).expect_err("endless").to_string(), "it is larger than 64 MB");
        assert_eq!(found(endless).expect_err("endless").to_string(), "it is not a regular file");
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("text");
        let file = File::create(&path).expect("writable");
        file.set_len((MOST_FOUND << 20) + 1).expect("a hole");
        assert_eq!(found(&path).expect_err("too long").to_string(), "it is larger than 16 MB");
        fs::write(&path, "text").expect("writable");
        assert_eq!(found(&path).expect("there"), "text");
        fs::write(&path, [0xff]).expect("writable");
        assert_eq!(named(&path).expect_err("no text").kind(), ErrorKind::InvalidData);
    }
}

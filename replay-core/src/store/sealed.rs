//! Heddle's own state files, with a digest of the content and a mark of the user's key.
//!
//! A damaged or truncated file is detected by the digest. A file that someone else made is detected by the
//! mark: a forged search could claim to be complete.

use super::user_key;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use traces::file::Key;

/// Why a file is not used.
pub(crate) const DAMAGED: &str = "it is damaged or truncated";
/// The same.
pub(crate) const FOREIGN: &str = "it does not have the mark of this user's key (author-key in the state \
                                  directory, XDG_STATE_HOME)";

/// The most bytes of a state file.
const MAX_FILE: u64 = 1 << 30;

/// Writes a state file atomically: magic number, digest, mark, and the parts of the body one after another.
/// The parts may be long, and are not copied.
pub(crate) fn write(path: &Path, magic: &[u8; 8], parts: &[&[u8]]) -> io::Result<()> {
    let head = head(magic, parts);
    super::write(path, &[&[head.as_slice()], parts].concat())
}

/// What precedes the body of a state file.
fn head(magic: &[u8; 8], parts: &[&[u8]]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| _ = hasher.update(part));
    let mut bytes = magic.to_vec();
    bytes.extend(hasher.finalize().as_bytes());
    // Without a key the file has no mark, and cannot be used again.
    bytes.extend(key().map_or([0; blake3::OUT_LEN], |key| mark(&key, magic, parts)));
    bytes
}

/// The body, or the reason why the file is not used.
pub(crate) fn open<'bytes>(
    magic: &[u8; 8],
    bytes: &'bytes [u8],
) -> Result<&'bytes [u8], &'static str> {
    let rest = bytes.strip_prefix(magic).ok_or(DAMAGED)?;
    let (hash, rest) = rest.split_at_checked(blake3::OUT_LEN).ok_or(DAMAGED)?;
    let (marked, body) = rest.split_first_chunk::<{ blake3::OUT_LEN }>().ok_or(DAMAGED)?;
    if blake3::hash(body).as_bytes() != hash {
        return Err(DAMAGED);
    }
    let key = key().ok_or(FOREIGN)?;
    // The comparison of hashes takes constant time.
    let is_ours = blake3::Hash::from_bytes(mark(&key, magic, &[body])) == *marked;
    is_ours.then_some(body).ok_or(FOREIGN)
}

/// Reads a state file. Anything but a regular file of a sensible size is refused: reading a pipe would
/// wait for its writer.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() || found.len() > MAX_FILE {
        return Err(io::Error::other("it is not a regular file, or larger than 1 GB"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn mark(key: &Key, magic: &[u8; 8], parts: &[&[u8]]) -> [u8; blake3::OUT_LEN] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(magic);
    parts.iter().for_each(|part| _ = hasher.update(part));
    *hasher.finalize().as_bytes()
}

/// The user's key. Unit tests leave the user's directory alone.
fn key() -> Option<Key> {
    if cfg!(test) { Some([7; 32]) } else { user_key::key_or_new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &[u8; 8] = b"magic\0\0\x01";

    #[test]
    fn a_damaged_file_is_not_opened() {
        let parts: [&[u8]; 2] = [b"what is ", b"in it"];
        let sealed = [head(MAGIC, &parts), parts.concat()].concat();
        assert_eq!(open(MAGIC, &sealed), Ok(&b"what is in it"[..]));
        assert_eq!(open(b"magic\0\0\x02", &sealed), Err(DAMAGED));
        for len in 0..sealed.len() {
            assert!(open(MAGIC, &sealed[..len]).is_err(), "{len} bytes of it");
            let mut other = sealed.clone();
            other[len] ^= 1;
            assert!(open(MAGIC, &other).is_err(), "byte {len} is another");
        }
    }

    #[test]
    fn a_forged_file_is_not_opened() {
        let body = b"every schedule was run";
        for (key, magic) in
            [(Some([8; 32]), MAGIC), (Some([7; 32]), b"magic\0\0\x02"), (None, MAGIC)]
        {
            let mut forged = MAGIC.to_vec();
            forged.extend(blake3::hash(body).as_bytes());
            forged.extend(key.map_or([0; 32], |key| mark(&key, magic, &[body])));
            forged.extend(body);
            assert_eq!(open(MAGIC, &forged), Err(FOREIGN));
        }
    }
}

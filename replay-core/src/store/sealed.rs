//! Heddle's own state files, with a digest of the content: a damaged or truncated file is detected.

/// The content of a state file: magic number, digest, body.
pub(crate) fn seal(magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend(blake3::hash(body).as_bytes());
    bytes.extend(body);
    bytes
}

/// The body; none if the file is damaged or of another kind.
pub(crate) fn open<'bytes>(magic: &[u8; 8], bytes: &'bytes [u8]) -> Option<&'bytes [u8]> {
    let (hash, body) = bytes.strip_prefix(magic)?.split_at_checked(blake3::OUT_LEN)?;
    (blake3::hash(body).as_bytes() == hash).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_not_opened() {
        let sealed = seal(b"magic\0\0\x01", b"what is in it");
        assert_eq!(open(b"magic\0\0\x01", &sealed), Some(&b"what is in it"[..]));
        assert_eq!(open(b"magic\0\0\x02", &sealed), None);
        for len in 0..sealed.len() {
            assert_eq!(open(b"magic\0\0\x01", &sealed[..len]), None, "{len} bytes of it");
            let mut other = sealed.clone();
            other[len] ^= 1;
            assert_eq!(open(b"magic\0\0\x01", &other), None, "byte {len} is another");
        }
    }
}

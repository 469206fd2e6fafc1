//! Files of Heddle's own with a digest over what is in them: one that is damaged or was not written to its
//! end is never taken for another.

/// The bytes of such a file: what begins it, the digest, what is in it.
pub(crate) fn seal(magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend(blake3::hash(body).as_bytes());
    bytes.extend(body);
    bytes
}

/// What is in it; none if it is damaged, or of another kind.
pub(crate) fn open<'bytes>(magic: &[u8; 8], bytes: &'bytes [u8]) -> Option<&'bytes [u8]> {
    let (hash, body) = bytes.strip_prefix(magic)?.split_at_checked(blake3::OUT_LEN)?;
    (blake3::hash(body).as_bytes() == hash).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_is_not_opened() {
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

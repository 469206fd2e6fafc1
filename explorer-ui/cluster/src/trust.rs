//! Which programs a worker runs: signed ones. Keys are those of NATS (nkeys, Ed25519). Pure, apart from
//! the key files.

use nkeys::KeyPair;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What is signed: the digest of a bundle, with a prefix that makes the signature useless for others.
fn statement(bundle: &str) -> Vec<u8> {
    format!("heddle bundle {bundle}").into_bytes()
}

/// The public keys whose programs a worker runs.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    keys: Vec<String>,
    everyone: bool,
}

impl Trust {
    /// From the options of `heddle worker`: keys, or files that have them.
    pub(crate) fn new(given: &[String], everyone: bool) -> Result<Trust, String> {
        let mut keys = Vec::new();
        for text in given {
            let key = match KeyPair::from_public_key(text) {
                Ok(_) => text.clone(),
                Err(_) => read(Path::new(text)).map_err(|why| {
                    format!("{text}: neither a public key nor a file of one: {why}")
                })?,
            };
            if KeyPair::from_public_key(&key).is_err() {
                return Err(format!(
                    "{text}: its content is not a public key: name the file FILE.pub"
                ));
            }
            keys.push(key);
        }
        if keys.is_empty() && !everyone {
            return Err(
                "a worker runs the programs that it is sent: name the key whose programs it may \
                        run (--trust KEY), or allow all (--trust-cluster)"
                    .to_owned(),
            );
        }
        Ok(Trust { keys, everyone })
    }

    /// Why the worker must not run this bundle, if it must not.
    pub(crate) fn refusal(
        &self,
        bundle: &str,
        signed: Option<&(String, Vec<u8>)>,
    ) -> Option<String> {
        if self.everyone {
            return None;
        }
        let Some((key, signature)) = signed else {
            return Some(
                "its program is not signed: sign it (heddle explore --sign), or start the worker with \
                 --trust-cluster"
                    .to_owned(),
            );
        };
        if !self.keys.contains(key) {
            return Some(format!(
                "its program is signed by {key}, which this worker does not trust: start it with \
                 --trust {key}"
            ));
        }
        let holds = KeyPair::from_public_key(key)
            .is_ok_and(|pair| pair.verify(&statement(bundle), signature).is_ok());
        (!holds).then(|| "the signature of its program is wrong: send the program again".to_owned())
    }
}

/// Signs a bundle with the secret key in this file.
pub(crate) fn sign(bundle: &str, file: &Path) -> Result<(String, Vec<u8>), String> {
    let shown = file.display();
    let seed = read(file).map_err(|why| format!("{shown}: the key cannot be read: {why}"))?;
    let pair = KeyPair::from_seed(&seed).map_err(|_| {
        format!("{shown}: not a secret key: make one with `heddle cluster key FILE`")
    })?;
    let signature = pair
        .sign(&statement(bundle))
        .map_err(|error| format!("{shown}: the program cannot be signed: {error}"))?;
    Ok((pair.public_key(), signature))
}

/// Makes a key: the secret in `file`, which only this user can read, the public part beside it.
pub(crate) fn make_key(file: &Path) -> Result<(String, PathBuf), String> {
    let pair = KeyPair::new_user();
    let seed = pair.seed().map_err(|error| format!("no key can be made: {error}"))?;
    let mut public = file.as_os_str().to_owned();
    public.push(".pub");
    let public = PathBuf::from(public);
    write(file, &seed, 0o600)?;
    write(&public, &pair.public_key(), 0o644)?;
    Ok((pair.public_key(), public))
}

fn read(file: &Path) -> std::io::Result<String> {
    Ok(std::fs::read_to_string(file)?.trim().to_owned())
}

fn write(file: &Path, text: &str, mode: u32) -> Result<(), String> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(file);
    opened
        .and_then(|mut file| writeln!(file, "{text}"))
        .map_err(|error| format!("{}: the key cannot be written: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_of_trusted_keys_run() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let (mine, file) = make_key(&path("mine")).expect("a key");
        let (other, _) = make_key(&path("other")).expect("a key");
        let signed = sign("abc", &path("mine")).expect("signed");
        assert_eq!(signed.0, mine);
        let by = |key: &str| Trust::new(&[key.to_owned()], false).expect("a key");
        assert_eq!(by(&mine).refusal("abc", Some(&signed)), None);
        assert_eq!(by(&file.to_string_lossy()).refusal("abc", Some(&signed)), None);
        assert_eq!(
            by(&mine).refusal("abd", Some(&signed)).expect("another program"),
            "the signature of its program is wrong: send the program again"
        );
        assert_eq!(
            by(&other).refusal("abc", Some(&signed)).expect("another key"),
            format!(
                "its program is signed by {mine}, which this worker does not trust: start it with \
                 --trust {mine}"
            )
        );
        let why = by(&mine).refusal("abc", None).expect("no signature");
        assert!(why.contains("not signed"), "{why}");
        let forged = (mine.clone(), sign("abc", &path("other")).expect("signed").1);
        assert!(by(&mine).refusal("abc", Some(&forged)).is_some());
        assert_eq!(Trust::new(&[], true).expect("everyone").refusal("abc", None), None);
    }

    #[test]
    fn keys_are_checked_and_never_overwritten() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("key");
        make_key(&file).expect("a key");
        assert!(make_key(&file).expect_err("exists").contains("cannot be written"));
        assert!(Trust::new(&[], false).expect_err("no key").contains("--trust-cluster"));
        // The secret key is not what a worker is given.
        let secret = file.to_string_lossy().into_owned();
        assert!(Trust::new(&[secret], false).expect_err("secret").contains("not a public key"));
        assert!(Trust::new(&["nothing".into()], false).is_err());
        let missing = sign("abc", Path::new("/nowhere")).expect_err("no file");
        assert!(missing.starts_with("/nowhere: the key cannot be read: "), "{missing}");
        let public = directory.path().join("key.pub");
        assert_eq!(
            sign("abc", &public).expect_err("a public key"),
            format!(
                "{}: not a secret key: make one with `heddle cluster key FILE`",
                public.display()
            )
        );
    }

    #[test]
    fn a_signature_is_for_a_bundle_only() {
        assert_eq!(statement("abc"), b"heddle bundle abc");
    }
}

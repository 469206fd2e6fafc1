//! The searches of a suite's tests on several machines: each test is one search at the server.

use crate::cli::arguments::ClusterArgs;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The longest part of a search's name that describes the test.
const DESCRIPTION: usize = 39;

/// The options of `explore` for the search of one test; none if it runs on this machine.
pub(super) fn options(args: &ClusterArgs, test: &str) -> Vec<OsString> {
    let Some(url) = &args.cluster else { return Vec::new() };
    let mut words = vec!["--cluster".into(), url.into(), "--cluster-name".into()];
    words.push(name(args.cluster_name.as_deref().unwrap_or_default(), test).into());
    // Each search runs in the directory of its program.
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut file = |option: &str, path: PathBuf| words.extend([option.into(), path.into()]);
    let own = [
        ("--sign", &args.sign),
        ("--creds", &args.connection.creds),
        ("--tls-ca", &args.connection.tls_ca),
    ];
    for (option, path) in own {
        path.iter().for_each(|path| file(option, whole(path)));
    }
    args.cluster_input.iter().for_each(|input| file("--cluster-input", input.clone()));
    words
}

/// The name of a test's search: what describes the test, and a number by which different tests differ.
fn name(beginning: &str, test: &str) -> String {
    let mut hasher = DefaultHasher::new();
    test.hash(&mut hasher);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let parts = [beginning, test].into_iter().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("_");
    let text: String = text.chars().map(plain).take(DESCRIPTION).collect();
    format!("{text}_{:08x}", hasher.finish() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_its_own_search() {
        let args = ClusterArgs {
            cluster: Some("nats://first".into()),
            cluster_name: Some("nightly".into()),
            sign: Some("key".into()),
            cluster_input: vec!["data/in.txt".into()],
            ..ClusterArgs::default()
        };
        let words = options(&args, "bank tests::lost");
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words[..3], ["--cluster", "nats://first", "--cluster-name"]);
        assert!(
            words[3].starts_with("nightly_bank_tests__lost_") && words[3].len() == 33,
            "{words:?}"
        );
        assert!(Path::new(&*words[5]).is_absolute() && words[5].ends_with("/key"), "{words:?}");
        assert_eq!(words[6..], ["--cluster-input", "data/in.txt"]);
        assert_ne!(name("", "bank tests::lost"), name("", "bank tests..lost"));
        assert_eq!(name("", &"long ".repeat(40)).len(), 48);
        assert!(options(&ClusterArgs::default(), "bank").is_empty());
    }
}

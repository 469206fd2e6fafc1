//! Under which circumstances the program of a trace runs again.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use traces::Header;

/// An environment: names with their values.
pub(super) type Variables = Vec<(OsString, OsString)>;

/// Variables that make a program, its loader or its interpreter run other code. From a trace that
/// somebody else made they would run what nobody agreed to.
const LOADING: [&str; 16] = [
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "JAVA_TOOL_OPTIONS",
    "LOCPATH",
    "NODE_OPTIONS",
    "OPENSSL_CONF",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONHOME",
    "PYTHONPATH",
    "RUBYLIB",
    "RUBYOPT",
];

/// Whether a variable of this name can make a program run other code.
pub(super) fn loads_code(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"LD_") || LOADING.iter().any(|known| known.as_bytes() == name)
}

/// The environment that a trace was recorded in; what it left out comes from `present`.
pub(super) fn recorded(header: &Header, present: &Variables) -> Variables {
    let mut variables: Variables = header
        .env
        .iter()
        .map(|(name, value)| (OsString::from_vec(name.clone()), OsString::from_vec(value.clone())))
        .collect();
    let left_out = |name: &OsStr| header.left_out.iter().any(|out| name == out.as_str());
    variables.extend(present.iter().filter(|(name, _)| left_out(name)).cloned());
    variables
}

/// The same for a trace that somebody else made: what can load code comes from `present` as well.
pub(super) fn trusted(header: &Header, present: &Variables) -> Variables {
    let mut variables = recorded(header, present);
    variables.retain(|(name, _)| !loads_code(name));
    variables.extend(present.iter().filter(|(name, _)| loads_code(name)).cloned());
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(list: &[(&str, &str)]) -> Variables {
        list.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn secrets_and_loaders_come_from_here() {
        let header = Header {
            env: vec![
                (b"A".to_vec(), b"theirs".to_vec()),
                (b"LD_PRELOAD".to_vec(), b"/tmp/evil.so".to_vec()),
            ],
            left_out: vec!["API_KEY".into()],
            ..Header::default()
        };
        let present = variables(&[("API_KEY", "mine"), ("A", "mine"), ("LD_LIBRARY_PATH", "/lib")]);
        assert_eq!(
            recorded(&header, &present),
            variables(&[("A", "theirs"), ("LD_PRELOAD", "/tmp/evil.so"), ("API_KEY", "mine")])
        );
        assert_eq!(
            trusted(&header, &present),
            variables(&[("A", "theirs"), ("API_KEY", "mine"), ("LD_LIBRARY_PATH", "/lib")])
        );
    }
}

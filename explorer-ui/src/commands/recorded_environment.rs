//! The environment in which the program of a trace runs again.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use traces::Header;

/// An environment: names with their values.
pub(super) type Variables = Vec<(OsString, OsString)>;

/// Variables that make a program, its loader or its interpreter run other code. In a trace of another
/// user they could run code that the user of this process did not consent to.
const CODE_LOADING: [&str; 16] = [
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
    name.starts_with(b"LD_") || CODE_LOADING.iter().any(|known| known.as_bytes() == name)
}

/// The recorded environment. Variables that the trace omits as secrets come from `present`.
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

/// Like [`recorded`], for a trace of another user: variables that load code come from `present`, too.
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
    fn secrets_and_code_loading_variables_come_from_this_process() {
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

//! What of a program's environment a trace must not carry away.

/// A variable is left out if its name contains one of these, in any case.
const TELLING: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Whether a variable of this name may hold a secret.
#[must_use]
pub fn may_be_secret(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    TELLING.iter().any(|word| name.windows(word.len()).any(|part| part == word.as_bytes()))
}

/// An environment as it may stand in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redacted {
    /// The variables that are kept, in their order: [`crate::Header::env`].
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// The names of the others, in their order: [`crate::Header::left_out`].
    pub left_out: Vec<String>,
}

/// Parts an environment into what a trace keeps and what it only names.
///
/// Names tell, values do not: a password within a URL stays.
pub fn redact(env: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Redacted {
    let mut redacted = Redacted::default();
    for (name, value) in env {
        if may_be_secret(&name) {
            redacted.left_out.push(String::from_utf8_lossy(&name).into_owned());
        } else {
            redacted.env.push((name, value));
        }
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets_in_any_case() {
        let cases: [(&[u8], bool); 14] = [
            (b"API_KEY", true),
            (b"apikey", true),
            (b"GITHUB_TOKEN", true),
            (b"Client_Secret", true),
            (b"PGPASSWORD", true),
            (b"MYSQL_PASSWD", true),
            (b"GOOGLE_APPLICATION_CREDENTIALS", true),
            (b"\xffKEY\xfe", true),
            (b"PATH", false),
            (b"HOME", false),
            (b"KE", false),
            (b"K_EY", false),
            (b"PASS", false),
            (b"", false),
        ];
        for (name, secret) in cases {
            assert_eq!(may_be_secret(name), secret, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn what_is_left_out_is_named_and_its_value_gone() {
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let env = [pair("A", "KEY"), pair("MY_KEY", "hush"), pair("B", ""), pair("token", "hush")];
        let redacted = redact(env);
        assert_eq!(redacted.env, [pair("A", "KEY"), pair("B", "")]);
        assert_eq!(redacted.left_out, ["MY_KEY", "token"]);
    }
}

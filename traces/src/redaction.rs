//! Which environment variables a trace must not contain.

/// A variable is left out if its name contains one of these, in any case.
const TELLING: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Whether a variable of this name may hold a secret.
#[must_use]
pub fn may_be_secret(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    TELLING.iter().any(|word| name.windows(word.len()).any(|part| part == word.as_bytes()))
}

/// A variable of an environment: name and value.
pub type Variable = (Vec<u8>, Vec<u8>);

/// Splits an environment into the variables that a trace contains ([`crate::Header::env`]) and the
/// names of those that it leaves out ([`crate::Header::left_out`]), each in their order.
///
/// Only names decide: a password within a URL in a harmless variable is not recognised.
#[must_use]
pub fn redact(env: impl IntoIterator<Item = Variable>) -> (Vec<Variable>, Vec<String>) {
    let (secret, kept): (Vec<_>, Vec<_>) =
        env.into_iter().partition(|(name, _)| may_be_secret(name));
    let name = |(name, _): Variable| String::from_utf8_lossy(&name).into_owned();
    (kept, secret.into_iter().map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_name_in_any_case() {
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
    fn omitted_variables_are_named_without_their_values() {
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let env = [pair("A", "KEY"), pair("MY_KEY", "hush"), pair("B", ""), pair("token", "hush")];
        let (kept, left_out) = redact(env);
        assert_eq!(kept, [pair("A", "KEY"), pair("B", "")]);
        assert_eq!(left_out, ["MY_KEY", "token"]);
    }
}

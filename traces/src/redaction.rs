//! What a trace must not contain: secrets in the environment, and credentials within URLs.

use crate::Trace;

/// A variable is left out if a word of its name is one of these, in any case and also in the plural.
/// Words are separated by anything but letters and digits.
const WORDS: [&str; 23] = [
    "PASS",
    "PWD",
    "PW",
    "TOKEN",
    "KEY",
    "SECRET",
    "AUTH",
    "AUTHORIZATION",
    "PAT",
    "COOKIE",
    "BEARER",
    "CREDENTIAL",
    "CRED",
    "SESSION",
    "PRIVATE",
    "PASSPHRASE",
    "PASSCODE",
    "JWT",
    "SIG",
    "SIGNATURE",
    "SSHPASS",
    "DBPASS",
    "PGPASS",
];

/// A variable is left out if a word of its name ends with one of these, as `PGPASSWORD` does, also with a
/// number behind it.
const ENDINGS: [&str; 13] = [
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "PWD",
    "SECRET",
    "TOKEN",
    "KEY",
    "CREDENTIAL",
    "COOKIE",
    "AUTH",
    "BEARER",
    "JWT",
];

/// Directories, although a word of their names is in the list.
const HARMLESS: [&str; 2] = ["PWD", "OLDPWD"];

/// Whether a variable of this name may hold a secret.
#[must_use]
pub fn may_be_secret(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS.iter().any(|known| known.as_bytes() == name) {
        return false;
    }
    name.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| {
        let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let unnumbered = &word[..word.len() - digits];
        let singular = unnumbered.strip_suffix(b"S").unwrap_or(unnumbered);
        [unnumbered, singular].into_iter().any(|word| {
            WORDS.iter().any(|known| known.as_bytes() == word)
                || ENDINGS.iter().any(|ending| word.ends_with(ending.as_bytes()))
        })
    })
}

/// A variable of an environment: name and value.
pub type Variable = (Vec<u8>, Vec<u8>);

/// Splits an environment into the variables that a trace contains ([`crate::Header::env`]) and the
/// names of those that it leaves out ([`crate::Header::left_out`]), each in their order: those whose
/// names suggest a secret, and those with credentials within a URL.
///
/// A masked value would make the program behave differently when it is run again. So the whole
/// variable is left out, and a replay takes it from the environment of that time.
#[must_use]
pub fn redact(env: impl IntoIterator<Item = Variable>) -> (Vec<Variable>, Vec<String>) {
    let (secret, kept): (Vec<_>, Vec<_>) = env
        .into_iter()
        .partition(|(name, value)| may_be_secret(name) || without_credentials(value).is_some());
    let name = |(name, _): Variable| String::from_utf8_lossy(&name).into_owned();
    (kept, secret.into_iter().map(name).collect())
}

/// What replaces a secret.
const MASK: &[u8] = b"***";

/// The text with the credentials of every URL in it masked (`scheme://user:password@host`, and the value of
/// a parameter `?token=value`); none if it contains none.
#[must_use]
pub fn without_credentials(text: &[u8]) -> Option<Vec<u8>> {
    let masked = without_user_information(text);
    without_secret_parameters(masked.as_deref().unwrap_or(text)).or(masked)
}

/// Whether a URL ends before this byte.
fn ends_url(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'<' | b'>') || byte.is_ascii_whitespace()
}

fn without_secret_parameters(text: &[u8]) -> Option<Vec<u8>> {
    let mut masked = Vec::new();
    let (mut in_url, mut found) = (false, false);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        in_url = !ends_url(byte) && (in_url || text[at..].starts_with(b"://"));
        masked.push(byte);
        at += 1;
        if !in_url || !matches!(byte, b'?' | b'&' | b';') {
            continue;
        }
        let is_end = |&byte: &u8| matches!(byte, b'&' | b';' | b'#') || ends_url(byte);
        let rest = &text[at..];
        let parameter = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
        let equals = parameter.iter().position(|&byte| byte == b'=');
        if let Some(equals) = equals.filter(|&equals| may_be_secret(&parameter[..equals])) {
            masked.extend_from_slice(&parameter[..=equals]);
            masked.extend_from_slice(MASK);
            at += parameter.len();
            found = true;
        }
    }
    found.then_some(masked)
}

fn without_user_information(text: &[u8]) -> Option<Vec<u8>> {
    let mut masked = Vec::new();
    let (mut rest, mut found) = (text, false);
    while let Some(at) = rest.windows(3).position(|part| part == b"://") {
        let (before, after) = rest.split_at(at + 3);
        masked.extend_from_slice(before);
        let is_end = |&byte: &u8| matches!(byte, b'/' | b'?' | b'#') || ends_url(byte);
        let authority = &after[..after.iter().position(is_end).unwrap_or(after.len())];
        match authority.iter().rposition(|&byte| byte == b'@') {
            // A user's name alone is no secret, but a token is often passed in its place.
            Some(end) if end > 0 => {
                masked.extend_from_slice(MASK);
                found = true;
                rest = &after[end..];
            }
            _ => rest = after,
        }
    }
    masked.extend_from_slice(rest);
    found.then_some(masked)
}

/// Removes from a trace what another person need not see to examine it: the values of all
/// variables, secrets in the arguments, and credentials in what the program printed.
pub fn redact_trace(trace: &mut Trace) {
    let header = &mut trace.header;
    let names = header.env.drain(..).map(|(name, _)| String::from_utf8_lossy(&name).into_owned());
    header.left_out.extend(names);
    header.unread.clear();
    redact_arguments(&mut header.args);
    if let Some(masked) = without_credentials(&trace.output) {
        trace.output = masked;
    }
}

/// Masks `--password=X`, the argument after `--password`, `PASSWORD=X`, and credentials in URLs.
fn redact_arguments(args: &mut [Vec<u8>]) {
    let mut is_value = false;
    for argument in args {
        let named = argument.starts_with(b"-");
        if std::mem::take(&mut is_value) && !named {
            *argument = MASK.to_vec();
            continue;
        }
        let equals = argument.iter().position(|&byte| byte == b'=');
        match equals {
            Some(at) if may_be_secret(&argument[..at]) => {
                argument.truncate(at + 1);
                argument.extend_from_slice(MASK);
            }
            None if named => is_value = may_be_secret(argument),
            _ => {}
        }
        if let Some(masked) = without_credentials(argument) {
            *argument = masked;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_the_words_of_a_name_in_any_case() {
        let secret = [
            "API_KEY",
            "apikey",
            "GITHUB_TOKEN",
            "Client_Secret",
            "PGPASSWORD",
            "MYSQL_PASSWD",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "PASS",
            "MYSQL_PWD",
            "DB_PASS",
            "AUTH",
            "GH_PAT",
            "BEARER",
            "COOKIE",
            "PASSPHRASE",
            "KEYS",
            "SESSION_ID",
            "PRIVATE_FILE",
            "aws-secret-key",
            "PASSWORD1",
            "GH_TOKEN_2",
            "KEYS3",
            "SSHPASS",
            "MYSQLPWD",
            "OAUTH",
        ];
        for name in secret {
            assert!(may_be_secret(name.as_bytes()), "{name}");
        }
        assert!(may_be_secret(b"\xffKEY\xfe"));
        let harmless = [
            "PATH",
            "HOME",
            "KE",
            "K_EY",
            "",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "COMPASS",
            "AUTHOR",
            "LD_LIBRARY_PATH",
            "XAUTHORITY",
            "PASSIVE",
            "PATH2",
        ];
        for name in harmless {
            assert!(!may_be_secret(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn omitted_variables_are_named_without_their_values() {
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let url = pair("PROXY", "http://me:hush@proxy:80");
        let env =
            [pair("A", "KEY"), pair("MY_KEY", "hush"), pair("B", ""), url, pair("token", "hush")];
        let (kept, left_out) = redact(env);
        assert_eq!(kept, [pair("A", "KEY"), pair("B", "")]);
        assert_eq!(left_out, ["MY_KEY", "PROXY", "token"]);
    }

    #[test]
    fn credentials_within_urls_are_masked() {
        for (text, masked) in [
            ("https://me:hush@host/x", Some("https://***@host/x")),
            ("a ftp://hush@h, b://c:d@e?f@g", Some("a ftp://***@h, b://***@e?f@g")),
            ("x://p@ss:w@rd@host", Some("x://***@host")),
            ("https://host/a@b", None),
            ("jdbc:x://h/d?user=me&password=hush#f", Some("jdbc:x://h/d?user=me&password=***#f")),
            (
                "'https://u:p@h/?a=b&access_token=hush'&key=c",
                Some("'https://***@h/?a=b&access_token=***'&key=c"),
            ),
            (
                "https://h/?sig=hush;X-Amz-Signature=hush x?key=c",
                Some("https://h/?sig=***;X-Amz-Signature=*** x?key=c"),
            ),
            ("https://h/?keyboard=b&page=2", None),
            ("mail me@host", None),
            ("://", None),
            ("", None),
        ] {
            let masked = masked.map(|text| text.as_bytes().to_vec());
            assert_eq!(without_credentials(text.as_bytes()), masked, "{text}");
        }
    }

    #[test]
    fn a_redacted_trace_keeps_names_and_harmless_arguments() {
        let mut trace = Trace::default();
        trace.header.env = vec![(b"HOME".to_vec(), b"/home/me".to_vec())];
        let args =
            ["-n", "3", "--password", "hush", "--token=hush", "x://u:hush@h", "KEY=hush", "b=c"];
        trace.header.args = args.iter().map(|text| text.as_bytes().to_vec()).collect();
        trace.output = b"see x://u:hush@h\n".to_vec();
        redact_trace(&mut trace);
        assert!(trace.header.env.is_empty());
        assert_eq!(trace.header.left_out, ["HOME"]);
        let expected =
            ["-n", "3", "--password", "***", "--token=***", "x://***@h", "KEY=***", "b=c"];
        let expected: Vec<Vec<u8>> = expected.iter().map(|text| text.as_bytes().to_vec()).collect();
        assert_eq!(trace.header.args, expected);
        assert_eq!(trace.output, b"see x://***@h\n");
    }
}

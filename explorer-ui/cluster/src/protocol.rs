//! What machines say to each other: names at the server, and the encoding of messages. Pure.

use replay_core::pieces::{IssuedPiece, Message};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use traces::compact;

/// The version of everything in this file. Other versions are refused.
pub(crate) const VERSION: u32 = 3;

/// The bucket of announcements, by the name of the search.
pub(crate) const SEARCHES: &str = "heddle-searches";
/// The bucket in which collectors renew their claims on searches.
pub(crate) const COLLECTORS: &str = "heddle-collectors";
/// The object store of programs, saved searches and large messages.
pub(crate) const OBJECTS: &str = "heddle-objects";
/// The subject of heartbeats.
pub(crate) const HEARTBEATS: &str = "heddle.alive";
/// The durable consumer through which workers share a stream of pieces.
pub(crate) const WORKERS: &str = "workers";

/// How often a machine announces itself and extends its leases.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);
/// A machine that was silent for this long is lost.
pub(crate) const SILENCE: Duration = Duration::from_secs(6);
/// How long a machine may hold a piece without extending the lease.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
/// How often a collector renews its claim.
pub(crate) const RENEWAL: Duration = Duration::from_secs(1);

/// The stream of pieces.
pub(crate) fn pieces_stream(name: &str) -> String {
    format!("HEDDLE_PIECES_{name}")
}

/// The stream of results.
pub(crate) fn results_stream(name: &str) -> String {
    format!("HEDDLE_RESULTS_{name}")
}

/// The subject of the piece with this key; `>` for all.
pub(crate) fn piece_subject(name: &str, key: &str) -> String {
    format!("heddle.piece.{name}.{key}")
}

/// The subject of the result with this key; `>` for all.
pub(crate) fn result_subject(name: &str, key: &str) -> String {
    format!("heddle.result.{name}.{key}")
}

/// The name of the object with the saved state of a search.
pub(crate) fn state_object(name: &str) -> String {
    format!("state-{name}")
}

/// The name of the object with a result that is too large for a message.
pub(crate) fn result_object(key: &str) -> String {
    format!("result-{key}")
}

/// The name of the object with a trace of a search.
pub(crate) fn trace_object(name: &str, file: &str) -> String {
    format!("trace-{name}-{file}")
}

/// Checks a name for a search, which becomes part of names at the server.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match !name.is_empty() && name.len() <= 48 && name.chars().all(fits) {
        true => Ok(()),
        false => Err(format!(
            "{name}: not a name for a search: use at most 48 letters, digits and _ (--cluster-name)"
        )),
    }
}

/// The name of a search of a program, if the user gave none.
pub(crate) fn default_name(program: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = program.chars().map(fits).take(48).collect();
    if name.is_empty() { "search".to_owned() } else { name }
}

/// The state of a search at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// Workers take its pieces.
    Running,
    /// It has ended while its collector was away, which has to record what was found.
    Waiting,
    /// It is complete, or its limit of executions or time was reached.
    Over,
    /// `heddle cluster cancel` ended it.
    Cancelled,
}

impl State {
    /// Whether the same command continues the search, rather than begin another.
    pub(crate) fn can_be_continued(self) -> bool {
        matches!(self, State::Running | State::Waiting)
    }
}

/// A search, as announced to workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Announcement {
    /// The [`VERSION`] of the one who announced it.
    pub(crate) version: u32,
    /// The build of Heddle. Pieces can be read by the same build only.
    pub(crate) build: String,
    pub(crate) name: String,
    pub(crate) state: State,
    /// A digest of the program and of the options that determine the search.
    pub(crate) identity: String,
    /// Differs from that of every other search, also of the same name.
    pub(crate) instance: String,
    /// The digest of the bundle, which is its name in the object store.
    pub(crate) bundle: String,
    /// The public key of the signature, and the signature of the digest.
    pub(crate) signed: Option<(String, Vec<u8>)>,
    /// The command, for people.
    pub(crate) command: String,
    /// When the search was announced, in seconds since 1970.
    pub(crate) since: u64,
}

#[derive(Deserialize)]
struct OnlyVersion {
    version: u32,
}

impl Announcement {
    /// Reads an announcement.
    pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Announcement, String> {
        let damaged = || {
            format!(
                "the announcement of the search {name} cannot be read: cancel it (heddle cluster cancel)"
            )
        };
        let OnlyVersion { version } = serde_json::from_slice(bytes).map_err(|_| damaged())?;
        if version != VERSION {
            return Err(format!(
                "the search {name} at the server has version {version} of the protocol, and this \
                 heddle-cluster has {VERSION}: use the same release of Heddle on every machine, or \
                 another server"
            ));
        }
        serde_json::from_slice(bytes).map_err(|_| damaged())
    }

    /// Why a machine with this build cannot run pieces of the search, if it cannot.
    pub(crate) fn foreign_build(&self, build: &str) -> Option<String> {
        (self.build != build).then(|| {
            format!(
                "the search {} was started by another build of Heddle ({}; this is {build}): install \
                 the same build",
                self.name, self.build
            )
        })
    }
}

/// A heartbeat of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Heartbeat {
    /// A name that no other machine has.
    pub(crate) machine: String,
    pub(crate) host: String,
    pub(crate) workers: u32,
    /// The search whose pieces it runs.
    pub(crate) search: Option<String>,
    /// Executions that it has returned.
    pub(crate) executions: u64,
    /// Executions a second since its last heartbeat.
    pub(crate) rate: f64,
    /// Why it refuses the search.
    pub(crate) refuses: Option<String>,
    /// Whether it leaves: this is its last heartbeat.
    pub(crate) leaves: bool,
}

/// The largest message. Larger payloads are objects: servers limit messages to 1 MB.
pub(crate) const LARGEST: usize = 700 << 10;

/// A compressed value as bytes.
pub(crate) fn pack(value: &impl Serialize) -> Vec<u8> {
    lz4_flex::compress_prepend_size(&compact::encode(value))
}

/// The most bytes of an unpacked value. A damaged size must not exhaust the memory.
const MOST: u32 = 1 << 30;

/// Reads what [`pack`] wrote.
pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let damaged = || "it is damaged".to_owned();
    let size = bytes.first_chunk().map(|&size| u32::from_le_bytes(size));
    if size.is_none_or(|size| size > MOST) {
        return Err(damaged());
    }
    let plain = lz4_flex::decompress_size_prepended(bytes).map_err(|_| damaged())?;
    compact::decode(&plain).map_err(|_| damaged())
}

/// A piece, as a worker receives it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) key: String,
    /// The search, by [`Announcement::instance`].
    pub(crate) instance: String,
    pub(crate) issued: IssuedPiece,
}

/// Everything that a worker says about a piece: the messages in their order, of which the last ends the
/// piece. Another machine's result of the same piece is ignored as a whole.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PieceResult {
    pub(crate) key: String,
    /// The machine that ran the piece.
    pub(crate) machine: String,
    pub(crate) messages: Vec<Message>,
}

impl PieceResult {
    /// Whether the messages are those of one piece, and the last of them ends it.
    pub(crate) fn is_whole(&self) -> bool {
        let ends = self.messages.iter().filter(|message| message.ends_piece()).count();
        ends == 1 && self.messages.last().is_some_and(Message::ends_piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement() -> Announcement {
        Announcement {
            version: VERSION,
            build: "0.1.0, build 12".into(),
            name: "bank".into(),
            state: State::Running,
            identity: "1".into(),
            instance: "3".into(),
            bundle: "2".into(),
            signed: None,
            command: "./bank 3".into(),
            since: 0,
        }
    }

    #[test]
    fn another_version_is_refused_whatever_else_it_says() {
        let bytes = serde_json::to_vec(&announcement()).expect("plain data");
        assert_eq!(Announcement::parse("bank", &bytes), Ok(announcement()));
        let why = Announcement::parse("bank", br#"{"version":9,"more":[]}"#).expect_err("version");
        assert!(why.contains("version 9") && why.contains("same release"), "{why}");
        assert_eq!(
            Announcement::parse("bank", b"{}").expect_err("damaged"),
            "the announcement of the search bank cannot be read: cancel it (heddle cluster cancel)"
        );
    }

    #[test]
    fn another_build_is_named() {
        assert_eq!(
            announcement().foreign_build("0.1.0, build 34").as_deref(),
            Some(
                "the search bank was started by another build of Heddle (0.1.0, build 12; this is \
                 0.1.0, build 34): install the same build"
            )
        );
        assert_eq!(announcement().foreign_build("0.1.0, build 12"), None);
    }

    #[test]
    fn names_become_part_of_subjects() {
        for fit in ["a", "bank_2", &"x".repeat(48)] {
            assert_eq!(check_name(fit), Ok(()));
        }
        for bad in ["", "a.b", "a b", "*", "a>", &"x".repeat(49), "ä"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        for program in ["bank", "my-test.1", "", "größe", &"y".repeat(99)] {
            let name = default_name(program);
            assert_eq!(check_name(&name), Ok(()), "{program}");
        }
    }

    #[test]
    fn damaged_payloads_are_refused() {
        let packed = pack(&(7_u32, "text"));
        assert_eq!(unpack::<(u32, String)>(&packed), Ok((7, "text".into())));
        for cut in 0..packed.len() {
            assert!(unpack::<(u32, String)>(&packed[..cut]).is_err(), "{cut}");
        }
        let mut huge = packed;
        huge[..4].fill(0xff);
        assert!(unpack::<(u32, String)>(&huge).is_err());
    }
}

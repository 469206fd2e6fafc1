//! What the clients of a server did in an execution in which they were there (`--client`). Later executions repeat
//! it, without the clients.

use serde::{Deserialize, Serialize};

/// A client: a command of the user, with all its connections.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Client {
    /// The command, as the user wrote it.
    pub command: String,
    /// What it did, in order.
    pub actions: Vec<Action>,
    /// For each of its connections, in the order of its `connect` actions, what it received.
    pub answers: Vec<Answer>,
    /// Whether the program ended in the recording. Otherwise it waited for further clients in the end.
    #[serde(default)]
    pub saw_end: bool,
    /// Whether it ran at the same time as the others, in an execution of a search: then their tasks begin together.
    #[serde(default)]
    pub together: bool,
    /// Whether the execution was stuck when the client still ran: it waited for more of an answer.
    #[serde(default)]
    pub waits: bool,
    /// The status with which its command ended, if that ends an execution as a failure: it is not 0, and was 0 with other
    /// answers.
    #[serde(default)]
    pub failed: i32,
}

/// What the program sent on one connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the program then ended its side of the connection.
    pub ended: bool,
}

impl Answer {
    /// The number of bytes, and one for the end.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64 + u64::from(self.ended)
    }

    /// Whether the program sent nothing and did not end the connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One action of a client, and what it had received by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// What the client had received, as far as that had changed since its action before: the connection, and how
    /// much of its answer (see [`Answer::len`]).
    pub received: Vec<(u32, u64)>,
    /// The action.
    pub kind: ActionKind,
}

/// What a client did. Connections are numbered from 0, in the order in which the client made them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionKind {
    /// It made a connection to this address (a `sockaddr`, as bytes).
    Connect(Vec<u8>),
    /// It sent bytes.
    Send {
        /// The connection.
        connection: u32,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// It ended its side of a connection.
    End {
        /// The connection.
        connection: u32,
    },
    /// It sent a signal with this number to the program's process.
    Signal(u8),
}

/// No descriptor has such a number: it is that of a client's action.
const ACTION: u64 = 1 << 30;
/// Where the kind of the action is in this number; below it is the number of bytes.
const KIND: u32 = 28;

/// The number that stands for a wait for an answer, after all actions. No signal has the number 0.
pub const ANSWER: u64 = ACTION | 3 << KIND;

impl ActionKind {
    /// The number that stands for the action where other steps have that of a descriptor.
    #[must_use]
    pub fn number(&self) -> u64 {
        ACTION
            | match self {
                ActionKind::Connect(_) => 0,
                ActionKind::Send { bytes, .. } => {
                    1 << KIND | (bytes.len() as u64).min((1 << KIND) - 1)
                }
                ActionKind::End { .. } => 2 << KIND,
                ActionKind::Signal(signal) => 3 << KIND | u64::from(*signal),
            }
    }
}

/// The name of what a step is about that has this number instead of a descriptor's; none if it is one.
#[must_use]
pub fn action_name(number: u64) -> Option<String> {
    let action = number.checked_sub(ACTION)?;
    Some(match (action >> KIND, action & ((1 << KIND) - 1)) {
        (0, _) => "connection".to_owned(),
        (1, 1) => "send of 1 byte".to_owned(),
        (1, count) => format!("send of {count} bytes"),
        (2, _) => "end of connection".to_owned(),
        (3, 0) => "answer".to_owned(),
        (_, signal) => format!("signal {signal}"),
    })
}

/// Whether the program can handle a signal with this number: 9 and 19 (`SIGKILL`, `SIGSTOP`) are the kernel's.
fn is_signal(number: u8) -> bool {
    (1..=64).contains(&number) && ![9, 19].contains(&number)
}

impl Client {
    /// The addresses to which it connects.
    pub fn addresses(&self) -> impl Iterator<Item = &[u8]> {
        self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::Connect(address) => Some(&address[..]),
            _ => None,
        })
    }

    /// The signals that it sends.
    pub fn signals(&self) -> impl Iterator<Item = u8> {
        self.actions.iter().filter_map(|action| match action.kind {
            ActionKind::Signal(signal) => Some(signal),
            _ => None,
        })
    }

    /// Why these actions cannot be repeated, if they contradict each other: a file may hold anything.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let mut made = 0;
        for (number, action) in self.actions.iter().enumerate() {
            let is_known = |connection: u32| connection < made;
            let connection = match &action.kind {
                ActionKind::Connect(_) => None,
                ActionKind::Signal(signal) if is_signal(*signal) => None,
                ActionKind::Signal(signal) => {
                    return Some(format!("its action {} sends signal {signal}", number + 1));
                }
                ActionKind::Send { connection, .. } | ActionKind::End { connection } => {
                    Some(*connection)
                }
            };
            let mut used =
                connection.into_iter().chain(action.received.iter().map(|(which, _)| *which));
            if let Some(unknown) = used.find(|&which| !is_known(which)) {
                return Some(format!(
                    "its action {} uses connection {unknown}, which it did not make",
                    number + 1
                ));
            }
            let has_too_little = |which: u32, len: u64| {
                self.answers.get(which as usize).is_none_or(|answer| answer.len() < len)
            };
            if let Some((which, _)) =
                action.received.iter().find(|(which, len)| has_too_little(*which, *len))
            {
                return Some(format!(
                    "its action {} needs more of the answer on connection {which} than there is",
                    number + 1
                ));
            }
            made += u32::from(matches!(action.kind, ActionKind::Connect(_)));
        }
        (made as usize != self.answers.len())
            .then(|| format!("it has {made} connections and {} answers", self.answers.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        let action = |received: &[(u32, u64)], kind| Action { received: received.to_vec(), kind };
        Client {
            command: "ask".into(),
            actions: vec![
                action(&[], ActionKind::Connect(vec![2, 0])),
                action(&[], ActionKind::Send { connection: 0, bytes: b"question".to_vec() }),
                action(&[(0, 6)], ActionKind::End { connection: 0 }),
            ],
            answers: vec![Answer { bytes: b"answer".to_vec(), ended: false }],
            saw_end: false,
            together: false,
            waits: false,
            failed: 0,
        }
    }

    #[test]
    fn a_client_that_contradicts_itself_is_refused() {
        assert_eq!(client().contradiction(), None);
        let mut early = client();
        early.actions.swap(0, 1);
        let expected = "its action 1 uses connection 0, which it did not make";
        assert_eq!(early.contradiction().as_deref(), Some(expected));
        let mut more = client();
        more.actions[2].received = vec![(0, 7)];
        let expected = "its action 3 needs more of the answer on connection 0 than there is";
        assert_eq!(more.contradiction().as_deref(), Some(expected));
        more.answers[0].ended = true;
        assert_eq!(more.contradiction(), None);
        let mut fewer = client();
        fewer.answers.push(Answer::default());
        assert_eq!(fewer.contradiction().as_deref(), Some("it has 1 connections and 2 answers"));
        let sends = |signal| {
            let mut client = client();
            client.actions.push(Action { received: Vec::new(), kind: ActionKind::Signal(signal) });
            client.contradiction()
        };
        assert_eq!((sends(15), sends(64)), (None, None));
        for refused in [0, 9, 19, 65] {
            assert_eq!(sends(refused), Some(format!("its action 4 sends signal {refused}")));
        }
    }

    #[test]
    fn an_action_has_a_name_where_others_have_a_descriptor() {
        let names =
            client().actions.iter().map(|it| action_name(it.kind.number())).collect::<Vec<_>>();
        let expected = ["connection", "send of 8 bytes", "end of connection"];
        assert_eq!(names, expected.map(|name| Some(name.to_owned())));
        let one = ActionKind::Send { connection: 0, bytes: vec![1] };
        assert_eq!(action_name(one.number()).as_deref(), Some("send of 1 byte"));
        let signal = action_name(ActionKind::Signal(15).number());
        assert_eq!(signal.as_deref(), Some("signal 15"));
        assert_eq!(action_name(ANSWER).as_deref(), Some("answer"));
        assert_eq!(action_name(700), None);
    }

    #[test]
    fn the_end_of_a_connection_counts_as_one_more_byte() {
        assert!(Answer::default().is_empty());
        assert_eq!(Answer { bytes: Vec::new(), ended: true }.len(), 1);
    }
}

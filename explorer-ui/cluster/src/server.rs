//! The connection to the NATS server: the only part that waits for the network. Every wait is bounded.

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer};
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{Context, kv, object_store, stream};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError};
use explorer_ui::cli::arguments::ConnectionArgs;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use replay_core::Error;
use std::fmt::Display;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio::sync::{oneshot, watch};

use crate::protocol::{COLLECTORS, Heartbeat, LEASE, OBJECTS, SEARCHES, SILENCE, WORKERS};
use crate::protocol::{piece_subject, pieces_stream, result_subject, results_stream};

/// How long the first connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server that has just started may take to offer JetStream.
const JETSTREAM: Duration = Duration::from_secs(3);
/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(5);
/// How long a server may be away before a search ends.
const LONGEST_ABSENCE: Duration = Duration::from_secs(120);
/// How long the answer to a request may take where the server has refused one of this process.
const ANSWER: Duration = Duration::from_millis(500);
/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(200);

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The same request may succeed later.
    Passing(String),
    /// It cannot succeed.
    Lasting(String),
}

/// Sorts an error of the client by its text: its kinds do not distinguish a full disk.
fn failure(error: impl Display) -> Failure {
    let text = error.to_string();
    let lower = text.to_lowercase();
    let is_full = lower.contains("no space left")
        || lower.contains("resource limits exceeded")
        || lower.contains("insufficient resources")
        || lower.contains("insufficient storage")
        || lower.contains("maximum bytes");
    match is_full {
        true => Failure::Lasting(format!(
            "the server has no space left ({text}): free some, or raise its limit (max_file_store); the \
             search can be continued under the same --cluster-name"
        )),
        false => Failure::Passing(text),
    }
}

/// A connection, which reconnects when the server returns.
pub(crate) struct Server {
    handle: Handle,
    client: Client,
    pub(crate) jetstream: Context,
    /// The address, without a password.
    pub(crate) address: String,
    /// Whether a request gave up waiting for the server. Then no other waits that long, until one succeeds:
    /// each would make the end of a search later.
    given_up: AtomicBool,
    /// The last operation that the server did not permit this user. A request is not answered then.
    refusals: watch::Sender<String>,
    /// The number of workers, if no others can join: the server is a private one.
    pub(crate) own_workers: Option<u32>,
    _stop: oneshot::Sender<()>,
}

impl Server {
    /// Connects to the first of the servers that answers, and checks that it has JetStream.
    pub(crate) fn connect(url: &str, options: &ConnectionArgs) -> Result<Server, Error> {
        let (address, own_workers) = address(url)?;
        let (addresses, shown) = addresses(&address)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::system("cannot start the connection to the server"))?;
        let handle = runtime.handle().clone();
        std::thread::Builder::new()
            .name("nats".into())
            .spawn(move || {
                let _ = runtime.block_on(stopped);
                // Sends what is still to be sent.
                runtime.shutdown_timeout(Duration::from_millis(500));
            })
            .map_err(Error::system("cannot start a thread"))?;
        let (refusals, _) = watch::channel(String::new());
        let refused_to = refusals.clone();
        let mut connection = ConnectOptions::new()
            .name("heddle")
            .event_callback(move |event| {
                if let Event::ServerError(ServerError::Other(text)) = event
                    && text.to_lowercase().contains("permissions violation")
                {
                    refused_to.send_replace(text);
                }
                std::future::ready(())
            })
            .connection_timeout(CONNECT)
            .request_timeout(Some(REQUEST))
            .reconnect_delay_callback(|attempt| {
                Duration::from_millis((50 * attempt as u64).min(1000))
            });
        let named = addresses.iter().find_map(|address| {
            Some((address.username()?.to_owned(), address.password()?.to_owned()))
        });
        if let Some((user, password)) = named {
            connection = connection.user_and_password(user, password);
        }
        if let Some(path) = &options.tls_ca {
            if !path.is_file() {
                let what = "there is no such file of certificates (--tls-ca)".to_owned();
                return Err(Error::File { path: path.clone(), what });
            }
            connection = connection.add_root_certificates(path.clone()).require_tls(true);
        }
        if let Some(path) = &options.creds {
            let bad = |what: String| Error::File { path: path.clone(), what };
            let text = std::fs::read_to_string(path)
                .map_err(|error| bad(format!("the credentials cannot be read: {error}")))?;
            connection = connection
                .credentials(&text)
                .map_err(|_| bad("it has no NATS credentials (--creds)".to_owned()))?;
        }
        let connecting =
            async { tokio::time::timeout(CONNECT, connection.connect(addresses)).await };
        let client = match handle.block_on(connecting) {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(refused(&shown, error.kind(), &error.to_string())),
            Err(_) => {
                return Err(refused(&shown, ConnectErrorKind::TimedOut, "it does not answer"));
            }
        };
        let jetstream = {
            let _context = handle.enter();
            let mut jetstream = async_nats::jetstream::new(client.clone());
            jetstream.set_timeout(REQUEST);
            jetstream
        };
        let server = Server {
            handle,
            client,
            jetstream,
            address: shown,
            given_up: AtomicBool::new(false),
            refusals,
            own_workers,
            _stop: stop,
        };
        let began = Instant::now();
        loop {
            // Not the client's own request, which expects fields that older servers do not send.
            let asked = server.wait(async {
                server.jetstream.request::<_, _, serde_json::Value>("INFO", &()).await
            });
            match asked {
                Some(Ok(account)) if account.get("error").is_none() => return Ok(server),
                // A server that has just started offers it a moment later.
                _ if began.elapsed() < JETSTREAM => std::thread::sleep(PAUSE),
                _ => {
                    return Err(Error::Usage(format!(
                        "the server at {} does not offer JetStream: start it with `nats-server -js`, or \
                         enable JetStream for this account",
                        server.address
                    )));
                }
            }
        }
    }

    /// The context in which subscriptions can be dropped. A thread that has one keeps it.
    pub(crate) fn context(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Waits for something that takes no longer than a request.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.wait_for(REQUEST, work)
    }

    /// Waits for at most this time.
    pub(crate) fn wait_for<T>(
        &self,
        at_most: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        self.handle.block_on(async { tokio::time::timeout(at_most, work).await.ok() })
    }

    /// What the server did not permit.
    fn refusal(&self, what: &str) -> String {
        format!(
            "{what}: the server at {} does not permit it to this user ({}): permit the subjects that \
             Heddle needs (docs/cluster.md)",
            self.address,
            *self.refusals.borrow()
        )
    }

    /// Repeats a request until it succeeds or cannot succeed, while the server may be away.
    pub(crate) fn request<T>(
        &self,
        what: &str,
        work: impl AsyncFnMut() -> Result<T, Failure>,
    ) -> Result<T, Error> {
        self.request_while(what, &|| true, work)
    }

    /// As [`Server::request`], as long as `continues`.
    pub(crate) fn request_while<T>(
        &self,
        what: &str,
        continues: &dyn Fn() -> bool,
        mut work: impl AsyncFnMut() -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let began = Instant::now();
        let mut last = "no answer".to_owned();
        let mut refusals = self.refusals.subscribe();
        loop {
            let answer = self.wait(async {
                match select(pin!(work()), pin!(refusals.changed())).await {
                    Either::Left((answer, _)) => answer,
                    // Another thread's request may have been refused: then this one is answered.
                    Either::Right((_, asked)) => tokio::time::timeout(ANSWER, asked)
                        .await
                        .unwrap_or_else(|_| Err(Failure::Lasting(self.refusal(what)))),
                }
            });
            match answer {
                Some(Ok(value)) => {
                    self.given_up.store(false, Relaxed);
                    return Ok(value);
                }
                Some(Err(Failure::Lasting(why))) => return Err(Error::Runtime(why)),
                Some(Err(Failure::Passing(why))) => last = why,
                None => {}
            }
            if !continues() {
                return Err(Error::Runtime(format!("{what}: {last}")));
            }
            if began.elapsed() > LONGEST_ABSENCE || self.given_up.load(Relaxed) {
                self.given_up.store(true, Relaxed);
                return Err(absent(what, &self.address, &last));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Publishes without storage, as heartbeats are.
    pub(crate) fn broadcast(&self, subject: &'static str, payload: Vec<u8>) {
        // A lost heartbeat is followed by another.
        let _ = self.wait_for(Duration::from_millis(500), async {
            let _ = self.client.publish(subject, payload.into()).await;
            self.client.flush().await
        });
    }

    /// Subscribes to a subject without storage.
    pub(crate) fn listen(&self, subject: &'static str) -> Result<async_nats::Subscriber, Error> {
        self.request("cannot subscribe", async || {
            self.client.subscribe(subject).await.map_err(failure)
        })
    }

    /// Passes on the heartbeats that arrive in this time. Returns whether the subscription is open.
    pub(crate) fn hear(
        &self,
        beats: &mut async_nats::Subscriber,
        time: Duration,
        mut heard: impl FnMut(Heartbeat),
    ) -> bool {
        let end = Instant::now() + time;
        let mut is_open = true;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let received = self.wait_for(left, beats.next());
            if let Some(Some(message)) = &received {
                if let Ok(beat) = serde_json::from_slice(&message.payload) {
                    heard(beat);
                }
                continue;
            }
            is_open = received.is_none();
            // While the server is away, nothing is heard.
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
        }
        is_open
    }

    /// The bucket of searches, created if it does not exist.
    pub(crate) fn searches(&self) -> Result<kv::Store, Error> {
        self.bucket(SEARCHES, Duration::ZERO)
    }

    /// The bucket of claims, created if it does not exist.
    pub(crate) fn collectors(&self) -> Result<kv::Store, Error> {
        self.bucket(COLLECTORS, SILENCE)
    }

    fn bucket(&self, name: &str, max_age: Duration) -> Result<kv::Store, Error> {
        self.request("cannot open the list of searches", async || {
            if let Ok(store) = self.jetstream.get_key_value(name).await {
                return Ok(store);
            }
            // Not the client's own way, which asks newer servers than 2.9 for their limits.
            let config = stream::Config {
                name: format!("KV_{name}"),
                subjects: vec![format!("$KV.{name}.>")],
                max_messages_per_subject: 1,
                discard: DiscardPolicy::New,
                max_age,
                allow_rollup: true,
                deny_delete: true,
                storage: StorageType::File,
                num_replicas: 1,
                ..stream::Config::default()
            };
            self.jetstream.get_or_create_stream(config).await.map_err(failure)?;
            self.jetstream.get_key_value(name).await.map_err(failure)
        })
    }

    /// The store of objects, created if it does not exist.
    pub(crate) fn objects(&self) -> Result<ObjectStore, Error> {
        self.request("cannot open the store of objects", async || {
            if let Ok(store) = self.jetstream.get_object_store(OBJECTS).await {
                return Ok(store);
            }
            let config = object_store::Config {
                bucket: OBJECTS.to_owned(),
                storage: StorageType::File,
                num_replicas: 1,
                ..object_store::Config::default()
            };
            self.jetstream.create_object_store(config).await.map_err(failure)
        })
    }

    /// Stores an object.
    pub(crate) fn put_object(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let store = self.objects()?;
        self.request("cannot store an object", async || {
            let mut reader = bytes;
            store.put(name, &mut reader).await.map(drop).map_err(failure)
        })
    }

    /// Reads an object; none if there is none of this name.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let store = self.objects()?;
        self.request("cannot read an object", async || {
            let mut object = match store.get(name).await {
                Ok(object) => object,
                Err(error) if error.kind() == object_store::GetErrorKind::NotFound => {
                    return Ok(None);
                }
                Err(error) => return Err(failure(error)),
            };
            let mut bytes = Vec::new();
            object.read_to_end(&mut bytes).await.map_err(failure)?;
            Ok(Some(bytes))
        })
    }

    /// The names of all objects.
    pub(crate) fn object_names(&self) -> Result<Vec<String>, Error> {
        let store = self.objects()?;
        self.request("cannot list the objects", async || {
            let mut list = store.list().await.map_err(failure)?;
            let mut names = Vec::new();
            while let Some(info) = list.next().await {
                names.push(info.map_err(failure)?.name);
            }
            Ok(names)
        })
    }

    /// Removes an object, if it exists.
    pub(crate) fn remove_object(&self, name: &str) {
        if let Ok(store) = self.objects() {
            let _ = self.wait(async { store.delete(name).await });
        }
    }

    /// The streams of a search, created if they do not exist.
    pub(crate) fn create_streams(&self, name: &str) -> Result<(), Error> {
        let config = |stream: String, subject: String, retention| stream::Config {
            name: stream,
            subjects: vec![subject],
            retention,
            storage: StorageType::File,
            num_replicas: 1,
            // A second message of one subject is refused: pieces and results exist once.
            max_messages_per_subject: 1,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            ..stream::Config::default()
        };
        let pieces =
            config(pieces_stream(name), piece_subject(name, ">"), RetentionPolicy::WorkQueue);
        let results =
            config(results_stream(name), result_subject(name, ">"), RetentionPolicy::Limits);
        for config in [pieces, results] {
            self.request("cannot create a stream", async || {
                let stream = self.jetstream.get_or_create_stream(config.clone()).await;
                stream.map(drop).map_err(failure)
            })?;
        }
        self.request("cannot create the queue of pieces", async || {
            let stream = self.jetstream.get_stream(pieces_stream(name)).await.map_err(failure)?;
            let consumer = pull::Config {
                durable_name: Some(WORKERS.to_owned()),
                ack_policy: AckPolicy::Explicit,
                ack_wait: LEASE,
                max_ack_pending: 100_000,
                ..pull::Config::default()
            };
            stream.get_or_create_consumer(WORKERS, consumer).await.map(drop).map_err(failure)
        })
    }

    /// Removes the streams of a search.
    pub(crate) fn remove_streams(&self, name: &str) {
        for stream in [pieces_stream(name), results_stream(name)] {
            let _ = self.wait(async { self.jetstream.delete_stream(&stream).await });
        }
    }

    /// The queue of pieces of a search.
    pub(crate) fn queue(&self, name: &str) -> Result<PullConsumer, Failure> {
        let got = self.wait(async {
            self.jetstream.get_consumer_from_stream(WORKERS, pieces_stream(name)).await
        });
        match got {
            Some(got) => got.map_err(failure),
            None => Err(Failure::Passing("no answer".into())),
        }
    }

    /// The results of a search from this number on, each with its number.
    pub(crate) async fn results(&self, name: &str, from: u64) -> Result<pull::Stream, Failure> {
        let stream = self.jetstream.get_stream(results_stream(name)).await.map_err(failure)?;
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: from.max(1) },
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_secs(60),
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.map_err(failure)?;
        consumer
            .stream()
            .max_messages_per_batch(64)
            .heartbeat(Duration::from_secs(1))
            .expires(Duration::from_secs(5))
            .messages()
            .await
            .map_err(failure)
    }

    /// Stores a message that exists once. Returns whether it is the first of its subject.
    pub(crate) fn publish_once(
        &self,
        subject: &str,
        payload: &[u8],
        continues: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        self.request_while("cannot send a message", continues, async || {
            let publish = self.jetstream.publish(subject.to_owned(), payload.to_vec().into());
            let acknowledged = publish.await.map_err(failure)?.await;
            match acknowledged {
                Ok(_) => Ok(true),
                Err(error) => refused_as_second(error).map(|()| false),
            }
        })
    }

    /// Forgets the results up to this number.
    pub(crate) fn purge_results(&self, name: &str, up_to: u64) {
        let _ = self.wait(async {
            if let Ok(stream) = self.jetstream.get_stream(results_stream(name)).await {
                let _ = stream.purge().sequence(up_to + 1).await;
            }
        });
    }

    /// Removes all pieces from the queue.
    pub(crate) fn purge_pieces(&self, name: &str) -> Result<(), Error> {
        self.request("cannot empty the queue of pieces", async || {
            let stream = self.jetstream.get_stream(pieces_stream(name)).await.map_err(failure)?;
            stream.purge().await.map(drop).map_err(failure)
        })
    }

    /// Removes a piece that is not needed any more from the queue.
    pub(crate) fn purge_piece(&self, name: &str, key: &str) {
        let _ = self.wait(async {
            if let Ok(stream) = self.jetstream.get_stream_no_info(pieces_stream(name)).await {
                let _ = stream.purge().filter(piece_subject(name, key)).await;
            }
        });
    }
}

/// Whether the server refused a message because there is one of its subject.
pub(crate) fn refused_as_second(error: impl Display) -> Result<(), Failure> {
    match error.to_string().contains("maximum messages per subject exceeded") {
        true => Ok(()),
        false => Err(failure(error)),
    }
}

/// What an address begins with if the rest names the file that has the address: then a password is in no
/// command line.
pub(crate) const FILE: &str = "file:";

/// The address in a URL, and the number of workers if it is that of a private server: then the address is
/// the first line of a file, and the number the second.
fn address(url: &str) -> Result<(String, Option<u32>), Error> {
    let Some(path) = url.strip_prefix(FILE) else { return Ok((url.to_owned(), None)) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::Usage(format!("{path}: cannot read the server's address: {error}"))
    })?;
    let mut lines = text.trim().lines();
    let address = lines.next().unwrap_or_default().trim().to_owned();
    Ok((address, lines.next().and_then(|number| number.trim().parse().ok())))
}

/// The servers in a URL, and the URL without a password.
fn addresses(url: &str) -> Result<(Vec<ServerAddr>, String), Error> {
    let mut all = Vec::new();
    let mut shown = Vec::new();
    for part in url.split(',') {
        let bad = || {
            Error::Usage(format!(
                "{}: not the address of a NATS server: write nats://HOST, nats://HOST:PORT or \
                 tls://HOST",
                without_password(part)
            ))
        };
        if part.is_empty() || part.chars().any(char::is_whitespace) {
            return Err(bad());
        }
        let address: ServerAddr = part.parse().map_err(|_| bad())?;
        if !matches!(address.scheme(), "nats" | "tls") {
            return Err(bad());
        }
        shown.push(format!("{}:{}", address.host(), address.port()));
        all.push(address);
    }
    Ok((all, shown.join(",")))
}

fn without_password(url: &str) -> String {
    url.rsplit('@').next().unwrap_or(url).to_owned()
}

/// The error of a request that the server did not answer. `last` is what the last attempt failed with.
fn absent(what: &str, address: &str, last: &str) -> Error {
    Error::Runtime(format!(
        "{what}: the server at {address} has not answered for {} s ({last}): look whether it runs and \
         its disk has space; the search can be continued under the same --cluster-name",
        LONGEST_ABSENCE.as_secs()
    ))
}

/// The error for a server that cannot be used.
fn refused(address: &str, kind: ConnectErrorKind, text: &str) -> Error {
    use ConnectErrorKind::{Authentication, AuthorizationViolation, Dns, Tls};
    // A certificate that is refused in the middle of the handshake is an error of the connection.
    let lower = text.to_lowercase();
    let is_tls = ["certificate", "handshake", "tls"].iter().any(|sign| lower.contains(sign));
    let kind = if is_tls { Tls } else { kind };
    Error::Usage(match kind {
        Authentication | AuthorizationViolation => format!(
            "the server at {address} refuses this user: check the user and the password in the URL, or \
             the credentials (--creds)"
        ),
        Tls => format!(
            "the connection to {address} is not secure ({text}): name the certificates of the authority \
             that signed the server's (--tls-ca)"
        ),
        Dns => format!("the host of {address} is not known ({text}): check the URL"),
        _ => format!(
            "no NATS server answers at {address}: start one there (nats-server -js), or check the URL"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_shown_without_passwords() {
        let (all, shown) = addresses("nats://me:secret@one,nats://two:4333").expect("two servers");
        assert_eq!((all.len(), shown.as_str()), (2, "one:4222,two:4333"));
        for bad in ["", "http://one", "nats://a b", "nats://one,,nats://two"] {
            assert!(addresses(bad).is_err(), "{bad}");
        }
        let why = addresses("http://me:secret@one").map(drop).expect_err("not NATS").to_string();
        assert!(!why.contains("secret"), "{why}");
    }

    #[test]
    fn a_full_disk_is_no_passing_failure() {
        for text in [
            "write x: No space left on device",
            "resource limits exceeded for account",
            "insufficient resources (code 503)",
            "insufficient storage resources available",
            "maximum bytes exceeded",
        ] {
            let Failure::Lasting(why) = failure(text) else { panic!("{text}: it may pass") };
            assert_eq!(
                why,
                format!(
                    "the server has no space left ({text}): free some, or raise its limit \
                     (max_file_store); the search can be continued under the same --cluster-name"
                )
            );
        }
        assert!(matches!(failure("timed out"), Failure::Passing(_)));
        assert!(refused_as_second("maximum messages per subject exceeded").is_ok());
        assert!(refused_as_second("timed out").is_err());
    }

    #[test]
    fn a_server_that_cannot_be_used_is_named() {
        use ConnectErrorKind as Kind;
        let refusal = |kind, text| refused("one:4222", kind, text).to_string();
        let user = "the server at one:4222 refuses this user: check the user and the password in the \
                    URL, or the credentials (--creds)";
        assert_eq!(refusal(Kind::Authentication, "nkey"), user);
        assert_eq!(
            refusal(Kind::Io, "invalid peer certificate"),
            "the connection to one:4222 is not secure (invalid peer certificate): name the certificates \
             of the authority that signed the server's (--tls-ca)"
        );
        let host = "the host of one:4222 is not known (no record): check the URL";
        assert_eq!(refusal(Kind::Dns, "no record"), host);
        let none = "no NATS server answers at one:4222: start one there (nats-server -js), or check \
                    the URL";
        assert_eq!(refusal(Kind::TimedOut, "it does not answer"), none);
        assert_eq!(
            absent("cannot send a message", "one:4222", "no answer").to_string(),
            "cannot send a message: the server at one:4222 has not answered for 120 s (no answer): look \
             whether it runs and its disk has space; the search can be continued under the same \
             --cluster-name"
        );
    }

    #[test]
    fn an_address_may_be_in_a_file_with_the_number_of_workers() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("address");
        let url = format!("{FILE}{}", path.display());
        let missing = address(&url).map(drop).expect_err("no file").to_string();
        let expected = format!("{}: cannot read the server's address: ", path.display());
        assert!(missing.starts_with(&expected), "{missing}");
        std::fs::write(&path, "nats://one\n3\n").expect("written");
        assert_eq!(address(&url).expect("a file"), ("nats://one".to_owned(), Some(3)));
        assert_eq!(address("nats://two").expect("no file"), ("nats://two".to_owned(), None));
    }
}

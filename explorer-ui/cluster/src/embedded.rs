//! `--cluster embedded`: a private server on this machine, and workers, which end with the search.

use crate::server::FILE;
use replay_core::Error;
use replay_core::scratch::Scratch;
use serde::Deserialize;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The variable that has the address of the server, with its password, for workers of this machine.
pub(crate) const ADDRESS: &str = "HEDDLE_CLUSTER_ADDRESS";
const ADDRESS_FILE: &str = "address";
/// The variable that makes a process end with this parent.
const PARENT: &str = "HEDDLE_CLUSTER_PARENT";
/// The argument with which this program becomes another one that ends with its parent.
const BECOME: &str = "become";
/// How long the server may take to start.
const START: Duration = Duration::from_secs(20);

/// A process that ends with this value.
#[derive(Debug)]
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A private server with its store, and workers.
#[derive(Debug)]
pub(crate) struct Embedded {
    // The order in which they end.
    _workers: Vec<Guarded>,
    _server: Guarded,
    store: Scratch,
}

#[derive(Deserialize)]
struct Ports {
    nats: Vec<String>,
}

impl Embedded {
    /// Starts the server on a free port of the loopback device, and `workers` processes with one worker
    /// each.
    pub(crate) fn start(workers: u32) -> Result<Embedded, Error> {
        let store = Scratch::new().map_err(Error::system("cannot create a directory"))?;
        let password = random_word()?;
        let path = |name: &str| store.path().join(name);
        fs::write(path("server.conf"), configuration(&path("store"), &password))
            .map_err(Error::system("cannot write the configuration of the server"))?;
        let mut command = Command::new(own_path());
        command.args([BECOME, "nats-server", "--config"]).arg(path("server.conf"));
        command.arg("--ports_file_dir").arg(store.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Guarded(start(command)?);
        let ports = path(&format!("nats-server_{}.ports", server.0.id()));
        let address = await_ports(&ports, &mut server, START)?;
        let url = format!("nats://heddle:{password}@{address}");
        let worker = || {
            let mut command = Command::new(own_path());
            command.args(["worker", "embedded", "--trust-cluster", "--workers", "1"]);
            command.env(ADDRESS, &url).stdout(Stdio::null()).stderr(Stdio::null());
            start(command).map(Guarded)
        };
        fs::write(path(ADDRESS_FILE), format!("{url}\n{workers}\n"))
            .map_err(Error::system("cannot write the address of the server"))?;
        let workers = (0..workers).map(|_| worker()).collect::<Result<_, _>>()?;
        Ok(Embedded { _workers: workers, _server: server, store })
    }

    /// Where the address and the number of workers are, for this search and those of other processes. Only
    /// this user can read the file.
    pub(crate) fn url(&self) -> String {
        format!("{FILE}{}", self.store.path().join(ADDRESS_FILE).display())
    }
}

/// The configuration of the server: any free port of the loopback device.
fn configuration(store: &Path, password: &str) -> String {
    format!(
        "listen: \"127.0.0.1:-1\"\n\
         jetstream {{ store_dir: \"{}\" }}\n\
         authorization {{ user: heddle, password: \"{password}\" }}\n",
        store.display()
    )
}

fn own_path() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "heddle-cluster".into())
}

fn start(mut command: Command) -> Result<Child, Error> {
    command.env(PARENT, std::process::id().to_string()).stdin(Stdio::null());
    // Ctrl-C is for the search, which ends its processes itself.
    command.process_group(0);
    command.spawn().map_err(Error::system("cannot start a process of the private cluster"))
}

/// Waits until the server has written where it listens.
fn await_ports(path: &Path, server: &mut Guarded, at_most: Duration) -> Result<String, Error> {
    let end = Instant::now() + at_most;
    while Instant::now() < end {
        let ports = fs::read(path).ok().and_then(|it| serde_json::from_slice::<Ports>(&it).ok());
        let address = ports.and_then(|ports| ports.nats.into_iter().next());
        if let Some(address) = address {
            return Ok(address.trim_start_matches("nats://").to_owned());
        }
        if let Ok(Some(_)) = server.0.try_wait() {
            return Err(Error::Usage(
                "the private server cannot be started: install nats-server (Debian: apt install \
                 nats-server), or name a server (--cluster nats://HOST)"
                    .into(),
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(Error::Runtime(format!("the private server did not start within {} s", at_most.as_secs())))
}

/// A random word: a password, or a name that no other thing has.
pub(crate) fn random_word() -> Result<String, Error> {
    use std::io::Read;
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::system("cannot read random bytes"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes this process end with its parent, if it was started for a private cluster, and become the
/// program that it was started for. Returns the exit status if that fails.
pub(crate) fn begin() -> Option<ExitCode> {
    let parent: i32 = std::env::var(PARENT).ok()?.parse().ok()?;
    let bound = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    // The parent may have ended before.
    if bound.is_err() || nix::unistd::getppid().as_raw() != parent {
        return Some(ExitCode::FAILURE);
    }
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.as_slice() {
        [become_, program, arguments @ ..] if become_ == BECOME => {
            let _ = Command::new(program).args(arguments).exec();
            Some(ExitCode::from(127))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_that_does_not_start_is_reported() {
        let directory = tempfile::tempdir().expect("a directory");
        let ports = directory.path().join("ports");
        let child = |program: &str| {
            let mut command = Command::new(program);
            command.arg("60");
            start(command).map(Guarded)
        };
        let missing = child("/nowhere").map(drop).expect_err("no program").to_string();
        assert!(
            missing.starts_with("cannot start a process of the private cluster: "),
            "{missing}"
        );
        let mut slow = child("sleep").expect("a process");
        let late = await_ports(&ports, &mut slow, Duration::ZERO).expect_err("no address");
        assert_eq!(late.to_string(), "the private server did not start within 0 s");
        let mut ended = child("false").expect("a process");
        let none = await_ports(&ports, &mut ended, START).expect_err("it ended").to_string();
        assert_eq!(
            none,
            "the private server cannot be started: install nats-server (Debian: apt install \
             nats-server), or name a server (--cluster nats://HOST)"
        );
        std::fs::write(&ports, r#"{"nats":["nats://127.0.0.1:4222"]}"#).expect("written");
        let address = await_ports(&ports, &mut slow, START).expect("an address");
        assert_eq!(address, "127.0.0.1:4222");
    }

    #[test]
    fn only_this_machine_reaches_the_server_and_with_the_password() {
        assert_eq!(
            configuration(Path::new("/tmp/s"), "secret"),
            "listen: \"127.0.0.1:-1\"\njetstream { store_dir: \"/tmp/s\" }\nauthorization { user: heddle, \
             password: \"secret\" }\n"
        );
    }
}

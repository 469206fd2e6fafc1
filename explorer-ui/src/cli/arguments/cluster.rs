//! Searches on several machines: the options of `heddle explore --cluster`, `heddle worker` and
//! `heddle cluster`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help text, where brackets hold defaults"
)]

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// How to reach and identify oneself to the server.
#[derive(Debug, Clone, Default, Args)]
pub struct ConnectionArgs {
    /// The NATS credentials file of this user
    #[arg(long, value_name = "FILE")]
    pub creds: Option<PathBuf>,
    /// The certificates of the authorities that sign the server's certificate (PEM); requires TLS
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
}

/// The options of `heddle explore` and `heddle test` for searches on several machines.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Search on several machines")]
pub struct ClusterArgs {
    /// Search on the workers at a NATS server: nats://HOST[,HOST], file:FILE for the address in a file,
    /// or embedded for a private server and --workers workers on this machine
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,
    /// The name of the search at the server [the program's name]; for tests, the beginning of the name of
    /// each search
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub cluster_name: Option<String>,
    /// Sign the program with this key, which `heddle cluster key` makes
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub sign: Option<PathBuf>,
    /// Send this file with the program: a path below the working directory. Can be repeated
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub cluster_input: Vec<PathBuf>,
    /// How to reach the server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// `heddle worker`.
#[derive(Debug, Clone, Args)]
pub struct WorkerArgs {
    /// The NATS server: nats://HOST[,HOST]
    #[arg(value_name = "URL")]
    pub url: String,
    /// How to reach the server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Number of workers on this machine [one per core]
    #[arg(long, value_parser = crate::cli::values::workers, value_name = "N", allow_negative_numbers = true)]
    pub workers: Option<u32>,
    /// Run programs that this key signed: the public key, or the file that has it. Can be repeated
    #[arg(long, value_name = "KEY")]
    pub trust: Vec<String>,
    /// Run every program that the server sends, signed or not
    #[arg(long)]
    pub trust_cluster: bool,
    /// The most memory of a program's heap on this machine, whatever the search allows: 512M, 2G
    #[arg(long, value_parser = crate::cli::values::memory, value_name = "SIZE")]
    pub max_memory: Option<u64>,
    /// End after this time without a search [never]
    #[arg(long, value_parser = crate::cli::values::duration, value_name = "TIME")]
    pub max_idle: Option<std::time::Duration>,
}

/// The verbs of `heddle cluster`.
#[derive(Debug, Clone, Subcommand)]
pub enum ClusterVerb {
    /// Print the searches and the machines at a server
    Status(ClusterStatusArgs),
    /// End a search and remove what the server keeps of it
    Cancel(ClusterSearchArgs),
    /// Copy the traces of a search from the server
    Traces(ClusterTracesArgs),
    /// Make a key that signs programs: FILE has the secret, FILE.pub the public part for workers
    Key {
        /// The file of the secret key
        #[arg(value_name = "FILE")]
        path: PathBuf,
    },
}

/// `heddle cluster status`.
#[derive(Debug, Clone, Args)]
pub struct ClusterStatusArgs {
    /// The NATS server: nats://HOST[,HOST]
    #[arg(value_name = "URL")]
    pub url: String,
    /// How to reach the server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `heddle cluster cancel`.
#[derive(Debug, Clone, Args)]
pub struct ClusterSearchArgs {
    /// The NATS server: nats://HOST[,HOST]
    #[arg(value_name = "URL")]
    pub url: String,
    /// The name of the search
    #[arg(value_name = "NAME")]
    pub name: String,
    /// How to reach the server.
    #[command(flatten)]
    pub connection: ConnectionArgs,
}

/// `heddle cluster traces`.
#[derive(Debug, Clone, Args)]
pub struct ClusterTracesArgs {
    /// The search.
    #[command(flatten)]
    pub search: ClusterSearchArgs,
    /// The directory for the traces [heddle-out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

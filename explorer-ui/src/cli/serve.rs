//! The options of `heddle serve`.

use clap::Args;
use std::path::PathBuf;

/// `heddle serve`.
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// Speak the Model Context Protocol: the methods are tools for agents
    #[arg(long)]
    pub mcp: bool,
    /// Listen on a socket in a private directory instead, and print its path
    #[arg(long)]
    pub socket: bool,
    /// Print the methods as JSON schemas
    #[arg(long, conflicts_with_all = ["mcp", "socket"])]
    pub schema: bool,
    /// Allow running the programs that traces of other users name
    #[arg(long)]
    pub yes: bool,
    /// The directory for traces that are saved without a name
    #[arg(long, value_name = "DIR", default_value = "heddle-out")]
    pub out: PathBuf,
    /// Number of processes that search in parallel [the number of processors]
    #[arg(long, value_parser = crate::cli::values::workers, value_name = "N")]
    pub workers: Option<u32>,
}

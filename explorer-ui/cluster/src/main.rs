//! Searches on several machines, through NATS JetStream. `docs/cluster.md` describes their use.
//!
//! A collector ([`collector`]) gives the pieces of a search to a server, machines ([`worker`],
//! [`served_search`]) run them,
//! and the collector merges their results with the code that merges those of the workers of one machine:
//! [`replay_core::pieces::PieceRunner`] is the interface between the two.
//!
//! * [`divided`] keeps the pieces that only one machine can run on the collector's.
//! * [`protocol`], [`ledger`], [`machines`], [`own_workers`], [`balance`], [`trust`] are pure: messages, the
//!   pieces that are given out, the machines, those of a private cluster, which search a machine serves, whose
//!   programs run.
//! * [`bundle`] is the program with everything that it needs on another machine.
//! * [`server`] is the connection, the only part that waits for the network.
//! * [`announcements`] is the list of searches, [`stored`] what the server keeps so that a search can be
//!   continued.
//! * [`substitute`] continues a search on a machine while its collector is away.
//! * [`embedded`] is a private server, [`verbs`] has the commands.
#![forbid(unsafe_code)]

mod announcements;
mod balance;
mod bundle;
mod collector;
mod divided;
mod embedded;
mod ledger;
mod machines;
mod own_workers;
mod protocol;
mod quiet;
mod served_search;
mod server;
mod stored;
mod substitute;
mod trust;
mod verbs;
mod worker;

use replay_core::budget::CountingAllocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    if let Some(status) = embedded::begin() {
        return status;
    }
    explorer_ui::main_with(Some(&verbs::Cluster))
}

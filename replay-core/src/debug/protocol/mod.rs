//! The gdb protocol: gdbstub's state machine, with a filter before and after it for what it does
//! not support.
//!
//! `connection` and `packet` transport packets. `stub` drives gdbstub and contains the filter,
//! `extra_packets` answers what gdbstub does not support, `stop` reports why the program stopped.
//! `debuggee` is the program as gdbstub sees it, with its registers (`arch`), `breakpoints`,
//! resumption (`resume`), general information (`program_info`), the `files` of this machine and
//! thread-local storage (`tls`).

mod arch;
mod breakpoints;
pub(super) mod connection;
mod debuggee;
mod extra_packets;
mod files;
mod memory_map;
mod open_files;
mod packet;
mod peer_user;
mod program_info;
mod resume;
mod resume_request;
mod stop;
mod stub;
mod tls;

pub(super) use connection::Listener;
pub(super) use stub::serve;

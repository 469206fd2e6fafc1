//! The gdb protocol: gdbstub's state machine over a connection, with a filter before and behind it
//! for what it does not know.
//!
//! `connection` and `packet` are the wire; `stub` drives gdbstub and is the filter, `lacking` answers
//! what gdbstub does not know, `stop` says why the program stopped. The rest is the program as
//! gdbstub sees it: a `debuggee`, with its registers (`arch`), its `breakpoints`, how it is resumed
//! (`resume`), what is told of it (`about`), the `files` of this machine, thread-local storage (`tls`).

mod about;
mod arch;
mod breakpoints;
pub(super) mod connection;
mod debuggee;
mod files;
mod lacking;
mod packet;
mod resume;
mod stop;
mod stub;
mod tls;

pub(super) use connection::Listener;
pub(super) use stub::serve;

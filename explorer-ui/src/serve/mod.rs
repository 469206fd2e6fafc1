//! Heddle for programs and agents: a walk through schedules by JSON-RPC 2.0, or as tools of the Model
//! Context Protocol.
//!
//! Imports point down this list:
//!
//! * `socket` lets clients of this user connect; `connection` serves one of them, on standard
//!   input and output or on a socket.
//! * `mcp` wraps the methods as tools.
//! * [`registry`] has the table of the methods, from which schema, tools and documentation come.
//! * `methods` carries them out on a [`walk::session`](crate::walk::session).
//! * [`method`] is one of them; `page` and `answer` bound the size of results.
//! * [`schema`] describes types, `message` the messages.

mod answer;
mod connection;
mod markdown;
mod mcp;
mod message;
pub mod method;
mod methods;
mod page;
pub mod registry;
pub mod schema;
mod socket;
mod state;
mod view;

pub use connection::{Dialect, serve};
pub use markdown::markdown;
pub use socket::serve_socket;
pub use state::Settings;

//! The interactive terminal explorer: walks through the interleavings of a program.
//!
//! It follows the model-update-view pattern. Imports point down this list:
//!
//! * `event_loop` reads events, performs effects and redraws the screen. It is the only part that
//!   touches the terminal and files.
//! * [`crate::walk::engine`] runs the target on separate threads, so that no key press waits for an
//!   execution.
//! * [`update`] changes the model for each event and returns the effects to perform. Pure.
//! * [`render`] draws the model. [`panes`] has one component for each information pane.
//! * [`model`] is the whole state of the explorer.
//! * [`keys`] names keys and actions. Key bindings, help, palette and documentation come from its
//!   table of actions.

pub mod arrangement;
mod background;
pub mod capability;
pub mod commands;
mod effects;
mod event_loop;
pub mod keys;
mod links;
pub mod model;
pub mod panes;
pub mod preferences;
mod recording;
pub mod render;
mod screen_export;
pub mod session;
pub mod startup;
mod terminal;
pub mod theme;
mod tmux;
pub mod tour;
pub mod update;

pub use event_loop::{Options, run};

#[cfg(test)]
mod tests;

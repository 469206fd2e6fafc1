//! The terminal explorer: walk through the interleavings of a program.
//!
//! * [`model`] is all that is known; [`update`] changes it by events and says what is to be done
//!   outside ([`model::Effect`]); [`render`] draws it and changes nothing.
//! * [`action`] is the one table that keys, help, palette and documentation come from.
//! * [`engine`] runs the program, in a thread of its own, so that no key ever waits for it.
//! * [`aside`] does what takes long without running anything.
//! * [`sight`] is what was seen in the program at steps, `looking` the thread that looks.
//! * [`beginning`] is what there is before there is a schedule.
//! * [`lines`] says which steps share a line of the schedule.
//! * [`hand`] is what is known of a search that was handed over to.
//! * `shell` is the thin part around: the terminal, the clock, files.

pub mod action;
pub mod aside;
pub mod beginning;
mod debugger;
pub mod engine;
pub mod hand;
mod keyboard;
pub mod lines;
pub mod loaded;
mod looking;
pub mod model;
pub mod notes;
pub mod preferences;
pub mod render;
mod screen;
mod searching;
pub mod session;
mod shell;
pub mod sight;
pub mod theme;
pub mod tour;
pub mod update;

pub use shell::{Opening, run};

#[cfg(test)]
mod tests;

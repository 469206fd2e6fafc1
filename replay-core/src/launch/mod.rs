//! Everything before an execution: checks of the program and the machine, the runtime, the build of
//! an instrumented program, and the start of its process.

pub mod build;
pub(crate) mod child;
pub mod doctor;
mod elf_names;
pub(crate) mod leftovers;
mod openmp;
pub(crate) mod own_files;
pub mod preflight;
pub mod priority;
pub(crate) mod process;
pub mod runtime;
mod this_build;
mod wrapper;

pub use own_files::WorkingFiles;
pub use process::check_stack_limit;
pub use this_build::this_build;
pub use wrapper::FollowedChild;

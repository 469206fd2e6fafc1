//! The files that a debugger has open.

use std::collections::BTreeMap;
use std::fs::File;

/// The files that a debugger has open.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) open: BTreeMap<u32, File>,
    pub(super) next: u32,
}

//! The limits of verbs that read files.

use crate::cli::arguments::LimitArgs;
use crate::report::text::clean;
use replay_core::budget::Budget;
use std::path::Path;

/// Limits the work on this file. `advice` says what else to do instead of raising a limit.
pub(super) fn budget(limits: LimitArgs, file: &Path, advice: &str) -> Budget {
    Budget::begin(limits.limits(), &clean(&file.display().to_string()), advice)
}

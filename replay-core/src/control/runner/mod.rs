//! Runs chosen schedules of a program, for a person or for another part of Heddle.

mod estimate;
mod forecast;
mod look_ahead;
mod no_return;
mod program;
mod reaching;
mod refined;
mod satisfying;
mod search_from;
mod size;
mod smallest;

pub use estimate::Estimate;
pub use forecast::{Forecast, Outlook};
pub use look_ahead::{LookAhead, NearestFailure};
pub use no_return::{NoReturn, Prospect};
pub use program::{RunOutcome, Runner};
pub use reaching::{Reached, Reaching};
pub use satisfying::{Satisfying, Sought};
pub use search::explain::tree::OpenBranches;
pub use search::{Tree, Visits};
pub use search_from::{BranchState, SearchFrom, SearchLimits, Searched};
pub use size::Size;
pub use smallest::{RunSchedules, ScheduleSet, Smallest};

//! The widths of the tasks' columns in the schedule.

/// The least width of a column that shows operations.
pub(super) const LEAST: usize = 12;
/// The width of the lane of an idle task.
const LANE: usize = 1;
/// Columns between two tasks' columns.
pub(super) const GAP: usize = 1;

/// The activity of a task in the visible rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It is hidden.
    Hidden,
    /// It has not started or has ended.
    Absent,
    /// It is alive and executes no step.
    Idle,
    /// It executes steps.
    Active,
}

/// The columns of tasks, from left to right.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Columns(Vec<(usize, usize)>);

impl Columns {
    /// Lays out columns. If all tasks fit, all columns are equally wide; otherwise active tasks get a
    /// column and the others a lane or nothing. None if that does not fit either: the schedule is
    /// then shown as a list.
    pub(super) fn of(tasks: &[Activity], cells: usize) -> Option<Columns> {
        let seen = tasks.iter().filter(|&&one| one != Activity::Hidden).count();
        let alike = (cells / seen.max(1)).saturating_sub(GAP);
        if alike >= LEAST {
            let width = |activity| if activity == Activity::Hidden { 0 } else { alike };
            return Some(Columns::wide(tasks, width));
        }
        let count = |activity| tasks.iter().filter(|&&one| one == activity).count();
        let (active, idle) = (count(Activity::Active), count(Activity::Idle));
        let absent = seen - active - idle;
        [(LANE, LANE), (LANE, 0), (0, 0)].into_iter().find_map(|(of_idle, of_absent)| {
            let taken =
                |width: usize, tasks: usize| if width > 0 { (width + GAP) * tasks } else { 0 };
            let room = cells.checked_sub(taken(of_idle, idle) + taken(of_absent, absent))?;
            let column = (room / active.max(1)).saturating_sub(GAP);
            (column >= LEAST).then(|| {
                Columns::wide(tasks, |activity| match activity {
                    Activity::Active => column,
                    Activity::Idle => of_idle,
                    Activity::Absent => of_absent,
                    Activity::Hidden => 0,
                })
            })
        })
    }

    fn wide(tasks: &[Activity], width: impl Fn(Activity) -> usize) -> Columns {
        let mut at = 0;
        let column = |&activity: &Activity| {
            let column = (at, width(activity));
            at += if column.1 > 0 { column.1 + GAP } else { 0 };
            column
        };
        Columns(tasks.iter().map(column).collect())
    }

    /// The start and the width of a task's column; none if it has no column.
    pub(super) fn column(&self, task: usize) -> Option<(usize, usize)> {
        self.0.get(task).copied().filter(|&(_, width)| width > 0)
    }

    /// Whether a column of this width is a lane.
    pub(super) fn is_lane(width: usize) -> bool {
        width <= LANE
    }
}

#[cfg(test)]
mod tests {
    use super::Activity::{Absent, Active, Hidden, Idle};
    use super::*;

    fn widths(tasks: &[Activity], cells: usize) -> Option<Vec<usize>> {
        let columns = Columns::of(tasks, cells)?;
        let used = |&(at, width): &(usize, usize)| at + width;
        assert!(columns.0.iter().map(used).max().unwrap_or(0) <= cells);
        Some(columns.0.iter().map(|&(_, width)| width).collect())
    }

    #[test]
    fn columns_follow_what_tasks_do_where_there_is_little_room() {
        assert_eq!(widths(&[Idle, Absent, Active], 60), Some(vec![19, 19, 19]));
        assert_eq!(widths(&[Idle, Absent, Active, Active], 40), Some(vec![1, 1, 17, 17]));
        assert_eq!(widths(&[Idle, Absent, Active, Active], 29), Some(vec![1, 0, 12, 12]));
        assert_eq!(widths(&[Idle, Absent, Active, Active], 26), Some(vec![0, 0, 12, 12]));
        assert_eq!(widths(&[Idle, Absent, Active, Active], 25), None);
        assert_eq!(widths(&[Hidden, Absent, Hidden, Active], 60), Some(vec![0, 29, 0, 29]));
        assert_eq!(widths(&[Hidden, Hidden, Active, Active], 26), Some(vec![0, 0, 12, 12]));
        assert_eq!(widths(&[Active; 64], 200), None);
        let mut many = [Idle; 64];
        many[7] = Active;
        assert_eq!(widths(&many, 60).map(|widths| widths[7]), Some(59));
        assert_eq!(widths(&[], 60), Some(Vec::new()));
    }
}

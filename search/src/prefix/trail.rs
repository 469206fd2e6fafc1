//! The steps of an execution that ended, with which the next one is compared: also if another piece of
//! work begins it, it is resumed at a step that both have in common.

use traces::Choice;

/// A choice of the execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrailChoice {
    /// What was chosen.
    pub choice: Choice,
    /// The digest of the enabled tasks; zero at a data choice.
    pub digest: u32,
}

impl TrailChoice {
    /// A step, with the digest of the tasks that were enabled before it.
    #[must_use]
    pub fn step(task: traces::TaskId, digest: u32) -> TrailChoice {
        TrailChoice { choice: Choice::Task(task), digest }
    }

    /// A data choice of the step before it.
    #[must_use]
    pub fn data(taken: u32, of: u32) -> TrailChoice {
        TrailChoice { choice: Choice::Data { taken, of }, digest: 0 }
    }

    fn is_step(&self) -> bool {
        matches!(self.choice, Choice::Task(_))
    }
}

/// The number of first steps of a path that an execution has taken, with all of their data choices.
pub(crate) fn steps_in_common(path: &[TrailChoice], trail: &[TrailChoice]) -> usize {
    let same = path.iter().zip(trail).take_while(|(one, other)| one == other).count();
    let steps = trail[..same].iter().filter(|choice| choice.is_step()).count();
    // A data choice is part of the step before it.
    let next = path.get(same).into_iter().chain(trail.get(same));
    let is_within = next.into_iter().any(|choice| !choice.is_step());
    steps - usize::from(is_within && steps > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::TaskId;

    /// Digits are tasks, and letters outcomes of data choices.
    fn trail(text: &str) -> Vec<TrailChoice> {
        let choice = |letter: char| match letter.to_digit(10) {
            Some(task) => TrailChoice::step(TaskId(task as u16), 7),
            None => TrailChoice::data(letter as u32 - 'a' as u32, 26),
        };
        text.chars().map(choice).collect()
    }

    #[test]
    fn steps_are_common_with_all_of_their_data_choices() {
        for (path, ran, steps) in [
            ("", "", 0),
            ("", "01", 0),
            ("01", "", 0),
            ("012", "0120", 3),
            ("0122", "0120", 3),
            ("01a2", "01a20", 3),
            ("01a2", "01b2", 1),
            ("01ab", "01ac", 1),
            ("01a", "01ab2", 1),
            ("01", "01a2", 1),
            ("01a2", "012", 1),
            ("a", "b", 0),
        ] {
            assert_eq!(steps_in_common(&trail(path), &trail(ran)), steps, "{path} after {ran}");
        }
    }

    #[test]
    fn other_enabled_tasks_are_another_step() {
        let path = [TrailChoice::step(TaskId(0), 1), TrailChoice::step(TaskId(1), 2)];
        let trail = [TrailChoice::step(TaskId(0), 1), TrailChoice::step(TaskId(1), 3)];
        assert_eq!(steps_in_common(&path, &trail), 1);
    }
}

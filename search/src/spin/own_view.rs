//! The stacks of tasks as they would be had no other task written to them.
//!
//! The state of a task that waits in a loop includes its stack ([`crate::spin`]). Another task may write to
//! a variable there, such as a result that the loop does not read. That is no progress of the loop: if it
//! counted as such, whether the task waits would depend on the order of independent steps. So for each word
//! that others changed while the task was parked, the difference is remembered, and subtracted whenever the
//! stack is compared. A difference stays the same until others write again: two states of the task differ
//! exactly if its own writes made them differ, whatever a word is used for later.

/// The most words of a task that others changed; with more of them, all count as the task's own.
const MOST: usize = 64;

/// The stacks of all tasks of an execution.
#[derive(Debug, Clone, Default)]
pub struct OwnViews {
    views: Vec<View>,
    /// A stack without the changes of others.
    adjusted: Vec<u64>,
}

#[derive(Debug, Clone, Default)]
struct View {
    /// Whether the task is parked, with these words of its stack.
    is_parked: bool,
    /// The address of the first word.
    from: u64,
    words: Vec<u64>,
    /// The addresses of the words that others changed, and by how much.
    changes: Vec<(u64, u64)>,
}

impl OwnViews {
    /// An execution begins.
    pub fn begin(&mut self) {
        for view in &mut self.views {
            view.is_parked = false;
            view.changes.clear();
        }
    }

    /// Whether no task was parked in this execution.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.views.iter().all(|view| !view.is_parked && view.changes.is_empty())
    }

    /// The task has reached its next operation.
    pub fn arrive(&mut self, task: usize) {
        if let Some(view) = self.views.get_mut(task) {
            view.is_parked = false;
        }
    }

    /// The task is parked, with these words on its stack, from this address on.
    pub fn park(&mut self, task: usize, from: u64, words: &[u64]) {
        if self.views.len() <= task {
            self.views.resize(task + 1, View::default());
        }
        let view = &mut self.views[task];
        view.is_parked = true;
        view.from = from;
        view.words.clear();
        view.words.extend_from_slice(words);
        // What lies below belonged to functions that have returned.
        view.changes.retain(|&(address, _)| address >= from);
    }

    /// The words with which the task was parked last, without the changes of other tasks.
    ///
    /// # Panics
    /// If it was not parked.
    pub fn own_words(&mut self, task: usize) -> &[u64] {
        let view = &self.views[task];
        if view.changes.is_empty() {
            return &view.words;
        }
        self.adjusted.clone_from(&view.words);
        for &(address, by) in &view.changes {
            if let Some(word) = self.adjusted.get_mut((address - view.from) as usize / 8) {
                *word = word.wrapping_sub(by);
            }
        }
        &self.adjusted
    }

    /// Where the words begin with which the task was parked, and how many they are; none if they are not
    /// known.
    #[must_use]
    pub fn parked(&self, task: usize) -> Option<(u64, usize)> {
        let view = self.views.get(task).filter(|view| view.is_parked)?;
        Some((view.from, view.words.len()))
    }

    /// The task is about to continue, and its stack has these words now.
    pub fn resume(&mut self, task: usize, words: &[u64]) {
        let Some(view) = self.views.get_mut(task).filter(|view| view.is_parked) else { return };
        view.is_parked = false;
        if view.words == words {
            return;
        }
        for (at, (&is, &was)) in words.iter().zip(&view.words).enumerate() {
            if is == was {
                continue;
            }
            let (address, by) = (view.from + 8 * at as u64, is.wrapping_sub(was));
            match view.changes.iter_mut().find(|(changed, _)| *changed == address) {
                Some((_, sum)) => *sum = sum.wrapping_add(by),
                None => view.changes.push((address, by)),
            }
        }
        view.changes.retain(|&(_, by)| by != 0);
        if view.changes.len() > MOST {
            view.changes.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: u64 = 0x7000;

    /// Parks a task; the words of its stack without the changes of others.
    fn parked(views: &mut OwnViews, task: usize, from: u64, words: &[u64]) -> Vec<u64> {
        views.park(task, from, words);
        views.own_words(task).to_vec()
    }

    #[test]
    fn changes_of_others_are_left_out() {
        let mut views = OwnViews::default();
        assert!(views.is_new());
        assert_eq!(parked(&mut views, 1, FROM, &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(views.parked(1), Some((FROM, 3)));
        views.resume(1, &[1, 7, 3]);
        assert_eq!(views.parked(1), None);
        assert!(!views.is_new());
        assert_eq!(parked(&mut views, 1, FROM, &[1, 7, 4]), [1, 2, 4], "own changes stay");
        views.resume(1, &[1, 2, 4]);
        assert_eq!(parked(&mut views, 1, FROM, &[1, 2, 4]), [1, 2, 4], "changed back");
        views.begin();
        assert!(views.is_new());
    }

    /// A word that the task uses for something else later takes as many values as it really does.
    #[test]
    fn own_values_of_a_changed_word_stay_distinct() {
        let mut views = OwnViews::default();
        views.park(0, FROM, &[0]);
        views.resume(0, &[5]);
        let own: Vec<u64> = (0..8).map(|count| parked(&mut views, 0, FROM, &[count])[0]).collect();
        let distinct: std::collections::BTreeSet<u64> = own.iter().copied().collect();
        assert_eq!(distinct.len(), 8, "{own:?}");
    }

    #[test]
    fn changes_in_functions_that_returned_are_forgotten() {
        let mut views = OwnViews::default();
        views.park(0, FROM, &[0, 0]);
        views.resume(0, &[5, 6]);
        assert_eq!(parked(&mut views, 0, FROM + 8, &[6]), [0]);
        assert_eq!(parked(&mut views, 0, FROM, &[5, 6]), [5, 0]);
    }

    #[test]
    fn a_task_that_arrived_elsewhere_has_no_parked_words() {
        let mut views = OwnViews::default();
        views.park(0, FROM, &[1]);
        views.arrive(0);
        views.resume(0, &[9]);
        assert_eq!(parked(&mut views, 0, FROM, &[9]), [9]);
    }

    #[test]
    fn too_many_changes_count_as_own() {
        let mut views = OwnViews::default();
        let (before, after) = (vec![0; MOST + 1], vec![1; MOST + 1]);
        views.park(0, FROM, &before);
        views.resume(0, &after);
        assert_eq!(parked(&mut views, 0, FROM, &after), after);
    }
}

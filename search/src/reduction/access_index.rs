//! An index of the accesses on a path, by object and task. It finds the operations that conflict
//! with a given one without a scan of a long execution.

use crate::reduction::events::{Event, Map};
use traces::TaskId;

/// Positions on a path, as ascending lists for each task and for each object.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessIndex {
    lists: Vec<Vec<usize>>,
    /// By task: its list of positions.
    tasks: Vec<Option<usize>>,
    /// By object: for each task that accessed it, the list of positions.
    objects: Map<u64, Vec<(TaskId, usize)>>,
    /// For each entry in order, the list and the position that were added; `truncate` undoes them.
    noted: Vec<(usize, usize)>,
    len: usize,
}

impl AccessIndex {
    /// The number of positions in the index.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds the event at the next position.
    pub(crate) fn push(&mut self, event: &Event) {
        let task = event.task;
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, None);
        }
        let lists = &mut self.lists;
        let mut fresh = || {
            lists.push(Vec::new());
            lists.len() - 1
        };
        let own = *self.tasks[task.index()].get_or_insert_with(&mut fresh);
        self.noted.push((self.len, own));
        for &(object, _) in event.accesses() {
            let by = self.objects.entry(object).or_default();
            let list = match by.iter().find(|&&(other, _)| other == task) {
                Some(&(_, list)) => list,
                None => {
                    by.push((task, fresh()));
                    by[by.len() - 1].1
                }
            };
            self.noted.push((self.len, list));
        }
        for &(at, list) in self.noted.iter().rev().take_while(|&&(at, _)| at == self.len) {
            self.lists[list].push(at);
        }
        self.len += 1;
    }

    /// Removes all positions from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        while let Some(&(at, list)) = self.noted.last().filter(|&&(at, _)| at >= len) {
            debug_assert_eq!(self.lists[list].last(), Some(&at));
            self.lists[list].pop();
            self.noted.pop();
        }
        self.len = self.len.min(len);
    }

    /// The other tasks that accessed an object that `event` accesses or waits for; with `all`,
    /// every other task.
    pub(crate) fn others(&self, event: &Event, all: bool) -> Vec<TaskId> {
        if all {
            let tasks = (0..self.tasks.len() as u16).map(TaskId);
            return tasks.filter(|&task| task != event.task).collect();
        }
        let mut others: Vec<TaskId> = event.other.into_iter().collect();
        for (object, _) in event.accesses() {
            for &(task, _) in self.objects.get(object).into_iter().flatten() {
                if task != event.task && !others.contains(&task) {
                    others.push(task);
                }
            }
        }
        others
    }

    /// The positions of the task's events.
    pub(crate) fn of(&self, task: TaskId) -> &[usize] {
        self.tasks.get(task.index()).copied().flatten().map_or(&[], |list| &self.lists[list])
    }

    /// The positions at which the task accessed the object.
    pub(crate) fn of_on(&self, task: TaskId, object: u64) -> &[usize] {
        let by = self.objects.get(&object).map_or(&[][..], Vec::as_slice);
        by.iter().find(|&&(other, _)| other == task).map_or(&[], |&(_, list)| &self.lists[list])
    }
}

/// The positions in these lists from `from` to before `upto`, in descending order, each once.
pub(crate) fn backwards(
    mut lists: Vec<&[usize]>,
    from: usize,
    upto: usize,
) -> impl Iterator<Item = usize> {
    for list in &mut lists {
        *list = &list[..list.partition_point(|&at| at < upto)];
    }
    std::iter::from_fn(move || {
        let last = lists.iter().filter_map(|list| list.last()).max().copied()?;
        for list in &mut lists {
            if let Some((&at, rest)) = list.split_last()
                && at == last
            {
                *list = rest;
            }
        }
        (last >= from).then_some(last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PendingOperation;
    use traces::Operation;

    fn write(task: u16, object: u64) -> Event {
        Event::new(&PendingOperation::new(TaskId(task), Operation::Write, object, 0), 0)
    }

    #[test]
    fn positions_are_indexed_by_task_and_object_and_removed_from_the_end() {
        let mut index = AccessIndex::default();
        for (task, object) in [(0, 7), (1, 7), (0, 8), (0, 7)] {
            index.push(&write(task, object));
        }
        assert_eq!(index.of(TaskId(0)), [0, 2, 3]);
        assert_eq!(index.of_on(TaskId(0), 7), [0, 3]);
        assert_eq!(index.of_on(TaskId(1), 8), [] as [usize; 0]);
        index.truncate(2);
        assert_eq!((index.len(), index.of_on(TaskId(0), 7)), (2, &[0][..]));
        index.push(&write(1, 8));
        assert_eq!(index.of_on(TaskId(1), 8), [2]);
        assert_eq!(index.of(TaskId(1)), [1, 2]);
    }

    #[test]
    fn lists_are_merged_in_descending_order() {
        let all: Vec<usize> = backwards(vec![&[0, 3, 9], &[1, 3, 5], &[]], 1, 9).collect();
        assert_eq!(all, [5, 3, 1]);
    }
}

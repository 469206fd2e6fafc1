//! The tasks of asynchronous runtimes in a recording: which one each thread executed, and the function that makes
//! its future.

use crate::symbols::{Symbols, is_user_frame};
use std::collections::{BTreeMap, HashMap};
use traces::wire::Record;
use traces::{AsyncChange, AsyncTask, TaskId};

/// The function of tokio that calls the future of a task.
const POLL: &str = "tokio::runtime::task::raw::poll";
/// The runtime's own functions and those of Rust's library. A task without others, such as the one that a worker
/// thread executes, is the runtime's own, and is left out.
const OWN: [&str; 4] = ["tokio::", "core::", "std::", "alloc::"];
/// What the compiler adds to the name of an `async fn` for the future that it returns.
const FUTURE: [&str; 2] = ["::{closure}", "::{{closure}}"];

#[derive(Default)]
pub(super) struct AsyncTasks {
    /// The tasks, by number.
    tasks: BTreeMap<u64, Name>,
    changes: Vec<AsyncChange>,
    /// The task that each thread executes.
    current: HashMap<u16, u64>,
    /// The task of the last step, if its name is not known yet.
    unnamed: Option<u64>,
    /// The outermost functions so far on the stack of the last step: of the user, and of libraries other than the
    /// runtime.
    of_user: Option<String>,
    of_library: Option<String>,
}

/// What is known about the future of a task.
enum Name {
    /// No step of it showed the whole stack.
    Unknown,
    /// The runtime's own.
    Own,
    /// The function that makes it.
    Function(String),
}

impl AsyncTasks {
    /// Before step `next` a thread began to execute another task.
    pub(super) fn changed(&mut self, next: u64, record: &Record) {
        self.changes.push(AsyncChange { step: next, task: TaskId(record.task), id: record.value });
        self.current.insert(record.task, record.value);
        if record.value != 0 {
            self.tasks.entry(record.value).or_insert(Name::Unknown);
        }
    }

    /// A step, before its callers.
    pub(super) fn stepped(&mut self, record: &Record) {
        let id = self.current.get(&record.task).copied();
        self.unnamed = id.filter(|id| matches!(self.tasks.get(id), Some(Name::Unknown)));
        (self.of_user, self.of_library) = (None, None);
    }

    /// Some of the callers of the last step, innermost first.
    pub(super) fn called(&mut self, record: &Record, symbols: &Symbols) {
        let Some(id) = self.unnamed else { return };
        for address in [record.object, record.site, record.value] {
            let Some(site) = symbols.site(address) else { continue };
            for frame in symbols.frames(site, false) {
                if frame.function.starts_with(POLL) {
                    let function = self.of_user.take().or(self.of_library.take());
                    self.tasks.insert(id, function.map_or(Name::Own, Name::Function));
                    self.unnamed = None;
                    return;
                }
                let function = without_future(&frame.function);
                if is_user_frame(&frame) {
                    self.of_user = Some(function.to_owned());
                } else if !is_own(function) {
                    self.of_library = Some(function.to_owned());
                }
            }
        }
    }

    /// All of them, for an execution of so many steps: one that was cut off may end with a change.
    pub(super) fn all(mut self, steps: usize) -> (Vec<AsyncTask>, Vec<AsyncChange>) {
        let is_own = |id: &u64| matches!(self.tasks.get(id), Some(Name::Own));
        for change in &mut self.changes {
            if is_own(&change.id) {
                change.id = 0;
            }
        }
        let mut executed: HashMap<TaskId, u64> = HashMap::new();
        self.changes.retain(|change| {
            let before = executed.insert(change.task, change.id).unwrap_or(0);
            change.step < steps as u64 && before != change.id
        });
        let tasks = self.tasks.into_iter().filter_map(|(id, name)| match name {
            Name::Unknown => Some(AsyncTask { id, name: String::new() }),
            Name::Own => None,
            Name::Function(name) => Some(AsyncTask { id, name }),
        });
        (tasks.collect(), self.changes)
    }
}

/// Whether a function belongs to the runtime or to Rust's library; `<T as Trait>::function` is that of its type.
fn is_own(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&']);
    OWN.iter().any(|start| path.starts_with(start)) || path.starts_with("__")
}

/// The name of an `async fn`, or of the function with the `async` block.
fn without_future(function: &str) -> &str {
    let end = FUTURE.iter().find_map(|end| function.strip_suffix(end));
    end.unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(tasks: &mut AsyncTasks, next: u64, task: u16, value: u64) {
        tasks.changed(next, &Record { task, value, ..Record::default() });
    }

    #[test]
    fn the_own_tasks_of_a_runtime_are_left_out() {
        let mut tasks = AsyncTasks::default();
        for (next, value) in [(1, 5), (3, 7), (4, 5), (6, 0), (8, 9)] {
            changed(&mut tasks, next, 2, value);
        }
        tasks.tasks.insert(5, Name::Own);
        tasks.tasks.insert(7, Name::Function("app::deposit".into()));
        let (tasks, changes) = tasks.all(8);
        assert_eq!(tasks.iter().map(|task| task.id).collect::<Vec<_>>(), [7, 9]);
        let changes: Vec<_> = changes.iter().map(|change| (change.step, change.id)).collect();
        assert_eq!(changes, [(3, 7), (4, 0)], "no change without a step after it");
    }

    #[test]
    fn a_future_has_the_name_of_its_function() {
        assert_eq!(without_future("app::deposit::{{closure}}"), "app::deposit");
        assert_eq!(without_future("app::main::{closure}::{closure}"), "app::main::{closure}");
        assert!(is_own("<core::pin::Pin<P> as core::future::Future>::poll"));
        assert!(!is_own("<hyper::client::Connection as Service>::call"));
    }
}

//! What a task waits for that is parked in a call on descriptors or on System V objects.

use crate::state::open_words::WordSet;
use crate::state::pipes::Read;

/// What a parked task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// The words of that.
    pub(crate) words: WordSet,
    /// Whether the call changes the state of these where the wait has ended, instead of only looking.
    pub(crate) changes: bool,
    /// Whether signals and timers also change what the wait finds.
    pub(crate) signals: bool,
    /// The word of an epoll descriptor of which the call takes events, where it finds some; or 0.
    pub(crate) takes: u64,
    /// The read of a pipe that the task makes after the wait.
    pub(crate) read: Option<Read>,
}

impl Awaited {
    /// A task looks at these.
    pub(crate) fn look(words: WordSet, signals: bool) -> Awaited {
        Awaited { words, changes: false, signals, takes: 0, read: None }
    }

    /// The same, where the task takes the events that it finds from the epoll descriptor with this word.
    pub(crate) fn taking(self, word: u64) -> Awaited {
        Awaited { takes: word, ..self }
    }

    /// Whether the wait is for no data of a descriptor.
    pub(crate) fn is_apart(&self) -> bool {
        self.changes && self.words.is_apart()
    }

    /// A call that changes these.
    pub(crate) fn change(words: WordSet) -> Awaited {
        Awaited { words, changes: true, signals: false, takes: 0, read: None }
    }

    /// A read of a pipe that has these words.
    pub(crate) fn read(words: WordSet, read: Read) -> Awaited {
        Awaited { read: Some(read), ..Awaited::change(words) }
    }

    /// The words that the step accesses now. `is_over`: the wait has ended.
    pub(crate) fn accessed(&self, is_over: impl FnOnce() -> bool) -> WordSet {
        self.read.map_or(self.words, |read| read.words(self.words, is_over()))
    }
}

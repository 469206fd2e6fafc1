//! The words that represent the state of open files and of System V objects, for everything that compares
//! accesses to memory. Which word belongs to which file is decided by
//! [`crate::instrument::binary::open_files`].

use std::iter::successors;

/// Descriptors from here on share one word.
pub(crate) const DESCRIPTORS: usize = 64;
/// The most pipes that are distinguished in one execution, and how many words there are of each kind.
pub(crate) const PIPES: usize = 64;
const FILES: usize = DESCRIPTORS + 2 * PIPES;
/// The word of all System V message queues, and that of all semaphore sets.
pub(crate) const MESSAGE_QUEUES: usize = FILES;
pub(crate) const SEMAPHORE_SETS: usize = FILES + 1;
/// The word of which files are open, and which names there are.
pub(crate) const OPEN_FILES: usize = FILES + 2;
const COUNT: usize = FILES + 3;

/// The words of open files and descriptors, and behind them those of pipes: what was written, and what was
/// taken; then those of System V objects and of all files. Nothing is ever written to them.
static WORDS: [u64; COUNT] = [0; COUNT];

/// The address of a word.
pub(crate) fn at(index: usize) -> u64 {
    &raw const WORDS[index] as u64
}

/// The words of all open files, as one range: its start and size.
pub(crate) fn all() -> (u64, u64) {
    (WORDS.as_ptr() as u64, size_of_val(&WORDS[..FILES]) as u64)
}

/// The index of the word at an address, if it is one.
fn index(address: u64) -> Option<usize> {
    let size = size_of_val(&WORDS) as u64;
    let from = address.checked_sub(at(0)).filter(|&from| from < size)?;
    Some(from as usize / size_of::<u64>())
}

/// Whether there is such a word at the address. Its content says nothing about the file.
pub(crate) fn is_one(address: u64) -> bool {
    index(address).is_some()
}

/// Whether the word at this address is that of what was taken from a pipe.
pub(crate) fn is_taken(address: u64) -> bool {
    index(address).is_some_and(|at| (DESCRIPTORS + PIPES..FILES).contains(&at))
}

/// If the word at this address is that of what was written to a pipe: the descriptor by which the pipe is known.
pub(crate) fn pipe_written(address: u64) -> Option<usize> {
    let written = DESCRIPTORS..DESCRIPTORS + PIPES;
    index(address).filter(|at| written.contains(at)).map(|at| at - DESCRIPTORS)
}

/// A name for the word at this address, if it is one; pipes have that of the descriptor by which they are known.
pub(crate) fn name(address: u64) -> Option<String> {
    Some(match index(address)? {
        MESSAGE_QUEUES => "message queues".to_owned(),
        SEMAPHORE_SETS => "semaphore sets".to_owned(),
        OPEN_FILES => "open files".to_owned(),
        // The last one is that of several.
        number if number < DESCRIPTORS - 1 => format!("descriptor {number}"),
        word if word < DESCRIPTORS => return None,
        word => {
            let what = if word < DESCRIPTORS + PIPES { "written" } else { "taken" };
            format!("pipe of descriptor {}, {what}", (word - DESCRIPTORS) % PIPES)
        }
    })
}

/// What a task waits for that waits for a change of the word at this address, if that represents no open file.
pub(crate) fn awaited_name(address: u64) -> Option<&'static str> {
    match index(address)? {
        MESSAGE_QUEUES => Some("a message queue"),
        SEMAPHORE_SETS => Some("a semaphore set"),
        OPEN_FILES => Some("the other end of a pipe"),
        _ => None,
    }
}

/// A set of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordSet([u64; COUNT.div_ceil(64)]);

impl WordSet {
    /// No words.
    pub(crate) const NONE: WordSet = WordSet([0; COUNT.div_ceil(64)]);

    /// The word with this index.
    pub(crate) fn of(index: usize) -> WordSet {
        let mut set = WordSet::NONE;
        set.0[index / 64] |= 1 << (index % 64);
        set
    }

    /// The words of all open files.
    pub(crate) fn files() -> WordSet {
        let (mut set, (start, size)) = (WordSet::NONE, all());
        set.add(start, size);
        set
    }

    /// Adds the words in this range.
    pub(crate) fn add(&mut self, address: u64, size: u64) {
        for at in (address..address + size).step_by(size_of::<u64>()).filter_map(index) {
            self.0[at / 64] |= 1 << (at % 64);
        }
    }

    /// These words and the others.
    pub(crate) fn and(self, others: WordSet) -> WordSet {
        WordSet(std::array::from_fn(|at| self.0[at] | others.0[at]))
    }

    /// Those of the words for which this holds.
    pub(crate) fn only(self, holds: impl Fn(u64) -> bool) -> WordSet {
        let mut set = WordSet::NONE;
        self.iter().filter(|&word| holds(word)).for_each(|word| set.add(word, 8));
        set
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        *self == WordSet::NONE
    }

    /// Whether all of them represent something else than an open file, of which there are some.
    pub(crate) fn is_apart(&self) -> bool {
        !self.is_empty() && self.iter().all(|word| word >= at(FILES))
    }

    /// The addresses of the words.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0
            .into_iter()
            .enumerate()
            .flat_map(|(at, bits)| {
                let lowest = successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)));
                lowest
                    .take_while(|&bits| bits != 0)
                    .map(move |bits| at * 64 + bits.trailing_zeros() as usize)
            })
            .map(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_words_of_all_its_ranges() {
        let mut set = WordSet::NONE;
        assert!(set.is_empty() && !set.is_apart());
        set.add(at(5), 8);
        set.add(at(191), 8);
        set.add(at(63), 16);
        set.add(1 << 40, 8);
        assert_eq!(set.iter().collect::<Vec<_>>(), [5, 63, 64, 191].map(at));
        let (start, size) = all();
        set.add(start, size);
        assert_eq!(set.iter().count(), FILES);
        assert!(is_one(start) && is_one(at(OPEN_FILES)) && !is_one(start - 8));
        assert!(!is_one(at(COUNT - 1) + 8));
        let queues = WordSet::of(MESSAGE_QUEUES);
        assert_eq!(queues.iter().collect::<Vec<_>>(), [at(MESSAGE_QUEUES)]);
        assert!(queues.is_apart() && !queues.and(set).is_apart());
        let taken = set.only(is_taken);
        assert_eq!(taken.iter().count(), PIPES);
        assert!(taken.iter().all(|word| pipe_written(word).is_none()));
        assert_eq!(pipe_written(at(DESCRIPTORS + 5)), Some(5));
    }
}

//! What the calls mean, and every outcome of a function, by enumeration of all interleavings.

use super::{Call, Family, Function, Statement};
use std::collections::{BTreeSet, HashSet, VecDeque};

/// An observation that no call makes.
const NOTHING: u64 = 255;
/// The list that `strtok` takes apart when the threads begin, and where the next token begins.
const FIRST_TAKEN: ([u8; 8], usize) = (*b"1\x002,3,4\0", 2);
/// What the separate file contains.
pub const FILE_TEXT: &str = "55555555";
/// The size of the file at the beginning, which contains zeros.
pub const FILE_SIZE: usize = 2;

/// What the calls act on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Shared {
    /// The text; behind these words are zeros.
    text: [u64; 2],
    integers: [u8; 2],
    pipe: VecDeque<u8>,
    file: Vec<u8>,
    offset: usize,
    variable: u8,
    tokens: [u8; 8],
    /// Where the next token begins.
    token: usize,
    mask: u8,
    directory: u8,
    events: u64,
    names: [bool; 2],
    list: VecDeque<u8>,
    map: [Option<u8>; 4],
    string: Vec<u8>,
    /// The thread that holds the mutex.
    holder: Option<usize>,
}

/// A thread: the next statement, the steps of it that were executed, what they read, and what the thread
/// observed so far.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Thread {
    next: usize,
    steps: u8,
    read: u64,
    sleeps: bool,
    observed: u64,
}

/// What one step of a call does.
enum Step {
    /// The call needs further steps.
    More,
    /// The call returns, and the thread observes this.
    Returns(u64),
}

/// Adds an observation to those before it.
#[must_use]
pub fn combine(before: u64, value: u64) -> u64 {
    (before ^ value).wrapping_mul(0x100_0000_01b3).wrapping_add(1)
}

/// Eight equal digits.
fn digits(value: u8) -> u64 {
    u64::from_le_bytes([b'0' + value; 8])
}

/// Seven equal digits, and the end of the string.
fn ending(value: u8) -> u64 {
    digits(value) & (u64::MAX >> 8)
}

/// Whether `snprintf` is that of the GNU C Library up to 2.36.
fn is_old_library() -> bool {
    // SAFETY: the function returns a constant string.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    let minor = version.to_str().ok().and_then(|version| version.split('.').nth(1));
    minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor < 37)
}

/// The length of the string in a word, if it ends there.
fn end_in(word: u64) -> Option<u64> {
    word.to_le_bytes().iter().position(|&byte| byte == 0).map(|at| at as u64)
}

impl Shared {
    fn begin() -> Shared {
        Shared {
            text: [ending(0), 0],
            integers: [0; 2],
            pipe: VecDeque::new(),
            file: vec![0; FILE_SIZE],
            offset: 0,
            variable: 0,
            tokens: FIRST_TAKEN.0,
            token: FIRST_TAKEN.1,
            mask: 0,
            directory: 0,
            events: 0,
            names: [false; 2],
            list: VecDeque::new(),
            map: [None; 4],
            string: Vec::new(),
            holder: None,
        }
    }

    fn write_at(&mut self, at: usize, value: u8) {
        if self.file.len() <= at {
            self.file.resize(at + 1, 0);
        }
        self.file[at] = value;
    }

    fn read_at(&self, at: usize) -> u64 {
        self.file.get(at).map_or(NOTHING, |&byte| byte.into())
    }

    /// Executes the step of a call that follows `steps` earlier ones, which read `read`.
    fn step(&mut self, call: Call, steps: u8, read: &mut u64) -> Step {
        // The two words of a long access, one after the other.
        let first = steps == 0;
        match call {
            Call::Fill(value) | Call::CopyIn(value) => {
                self.text[usize::from(steps)] = digits(value);
                if first { Step::More } else { Step::Returns(0) }
            }
            Call::LongString(value) => {
                self.text[usize::from(steps)] = if first { digits(value) } else { ending(value) };
                if first { Step::More } else { Step::Returns(0) }
            }
            Call::ShortString(value) => {
                self.text[0] = ending(value);
                Step::Returns(0)
            }
            Call::Padded(value) => {
                self.text[usize::from(steps)] = if first { ending(value) } else { 0 };
                if first { Step::More } else { Step::Returns(0) }
            }
            Call::Print(value) => {
                let set = |text: &mut u64, at: usize, byte: u8| {
                    let mut bytes = text.to_le_bytes();
                    bytes[at] = byte;
                    *text = u64::from_le_bytes(bytes);
                };
                let text = &mut self.text[0];
                match (usize::from(steps), is_old_library()) {
                    // It writes a zero, and copies the seven digits byte after byte.
                    (0, true) => set(text, 0, 0),
                    (step @ 1..8, true) => set(text, step - 1, b'0' + value),
                    // It copies four digits, two, and one.
                    (step @ 0..3, false) => {
                        let digits = [0..4, 4..6, 6..7][step].clone();
                        digits.for_each(|at| set(text, at, b'0' + value));
                    }
                    _ => {
                        set(text, 7, 0);
                        return Step::Returns(7);
                    }
                }
                Step::More
            }
            Call::Move if first => {
                *read = self.text[0];
                Step::More
            }
            Call::Move => {
                self.text[1] = *read;
                Step::Returns(0)
            }
            Call::Length if first => match end_in(self.text[0]) {
                Some(length) => Step::Returns(length),
                None => Step::More,
            },
            Call::Length => Step::Returns(8 + end_in(self.text[1]).unwrap_or(8)),
            // Byte after byte.
            Call::Parse => match self.text_byte(steps.into()) {
                digit if digit.is_ascii_digit() => {
                    *read = *read * 10 + u64::from(digit - b'0');
                    Step::More
                }
                _ => Step::Returns(*read),
            },
            Call::CopyOut if first => {
                *read = self.text[0];
                Step::More
            }
            Call::CopyOut => Step::Returns(combine(*read, self.text[1])),
            Call::Compare(value) => self.compare_step(value, 16, steps, read),
            Call::CompareStart(value) => self.compare_step(value, 12, steps, read),
            Call::LastDigit(_) if first && end_in(self.text[0]).is_none() => {
                *read = self.text[0];
                Step::More
            }
            Call::LastDigit(value) => {
                let words = if first { [self.text[0], 0] } else { [*read, self.text[1]] };
                let bytes = words.into_iter().flat_map(u64::to_le_bytes).enumerate();
                let text = bytes.take_while(|&(_, byte)| byte != 0);
                let last = text.filter(|&(_, byte)| byte == b'0' + value).last();
                Step::Returns(last.map_or(NOTHING, |(at, _)| at as u64))
            }
            Call::ReadIn => {
                self.text[0] = digits(5);
                Step::Returns(8)
            }
            Call::WriteOut => Step::Returns(self.text[0]),
            Call::NextToken => self.token_step(steps, read),
            other => Step::Returns(self.at_once(other)),
        }
    }

    /// A byte of the text, or of the zeros behind it.
    fn text_byte(&self, at: usize) -> u8 {
        self.text.get(at / 8).map_or(0, |word| word.to_le_bytes()[at % 8])
    }

    /// A step of a comparison of `len` bytes of the text with digits: it reads word after word, and then the byte that
    /// differed once more. `read` has that byte's number, from 1.
    fn compare_step(&self, value: u8, len: usize, steps: u8, read: &mut u64) -> Step {
        let digit = b'0' + value;
        if let Some(differed) = read.checked_sub(1) {
            let order = self.text_byte(differed as usize).cmp(&digit);
            return Step::Returns(order as i8 as u8 as u64);
        }
        let start = 8 * usize::from(steps);
        let end = (start + 8).min(len);
        match (start..end).find(|&at| self.text_byte(at) != digit) {
            Some(at) => *read = at as u64 + 1,
            None if end == len => return Step::Returns(0),
            None => {}
        }
        Step::More
    }

    /// A step of `strtok`, as POSIX describes it and the C library makes it. `read` has where the token begins and
    /// ends, and whether these are the end of the list.
    fn token_step(&mut self, steps: u8, read: &mut u64) -> Step {
        const NONE: u64 = 1 << 16;
        const LAST: u64 = 1 << 17;
        let from = |at: usize, tokens: &[u8; 8], is_end: fn(u8) -> bool| {
            let length = tokens[at..].iter().position(|&byte| is_end(byte));
            at + length.expect("the list ends with a zero")
        };
        let (start, end) = ((*read & 0xff) as usize, (*read >> 8 & 0xff) as usize);
        match steps {
            0 => *read = self.token as u64,
            1 => *read = from(start, &self.tokens, |byte| byte != b',') as u64,
            2 if self.tokens[start] == 0 => *read |= NONE,
            3 if *read & NONE != 0 => {
                self.token = start;
                return Step::Returns(NOTHING);
            }
            3 => *read |= (from(start, &self.tokens, |byte| byte == b',' || byte == 0) as u64) << 8,
            4 if self.tokens[end] == 0 => *read |= LAST,
            5 if *read & LAST == 0 => self.tokens[end] = 0,
            5 | 6 => {
                self.token = if *read & LAST == 0 { end + 1 } else { end };
                return Step::Returns(u64::from(self.tokens[start] - b'0'));
            }
            _ => {}
        }
        Step::More
    }

    /// The next token when no thread runs.
    fn rest_token(&self) -> u64 {
        let (mut shared, mut read) = (self.clone(), 0);
        let returned = (0..8).find_map(|step| match shared.token_step(step, &mut read) {
            Step::Returns(value) => Some(value),
            Step::More => None,
        });
        returned.expect("no call has more steps")
    }

    /// Executes a call that is one step, and returns what it observes.
    fn at_once(&mut self, call: Call) -> u64 {
        match call {
            Call::Add(which, value) => {
                let integer = &mut self.integers[usize::from(which)];
                std::mem::replace(integer, *integer + value).into()
            }
            Call::Swap(which, value) => {
                std::mem::replace(&mut self.integers[usize::from(which)], value).into()
            }
            Call::Replace(which, from, to) => {
                let integer = &mut self.integers[usize::from(which)];
                let is_equal = *integer == from;
                if is_equal {
                    *integer = to;
                }
                is_equal.into()
            }
            Call::PipeWrite(value) => {
                self.pipe.push_back(value);
                1
            }
            Call::PipeRead => self.pipe.pop_front().map_or(NOTHING, u64::from),
            Call::FileWrite(value) => {
                self.write_at(self.offset, value);
                self.offset += 1;
                1
            }
            Call::FileRead => {
                let byte = self.read_at(self.offset);
                self.offset += usize::from(byte != NOTHING);
                byte
            }
            Call::FileSeek(to) => {
                self.offset = to.into();
                to.into()
            }
            Call::FileWriteAt(at, value) => {
                self.write_at(at.into(), value);
                1
            }
            Call::FileReadAt(at) => self.read_at(at.into()),
            Call::FileSize => self.file.len() as u64,
            Call::FileTruncate(size) => {
                self.file.resize(size.into(), 0);
                0
            }
            Call::SetVariable(value) => {
                self.variable = value;
                0
            }
            Call::GetVariable => self.variable.into(),
            Call::Mask(mask) => std::mem::replace(&mut self.mask, mask).into(),
            Call::ChangeDirectory(to) => {
                self.directory = to;
                0
            }
            Call::Directory => self.directory.into(),
            Call::EventAdd(value) => {
                self.events += u64::from(value);
                8
            }
            Call::EventTake => match std::mem::take(&mut self.events) {
                0 => NOTHING,
                events => events,
            },
            Call::Create(which) => {
                (!std::mem::replace(&mut self.names[usize::from(which)], true)).into()
            }
            Call::Remove(which) => {
                std::mem::replace(&mut self.names[usize::from(which)], false).into()
            }
            Call::Exists(which) => self.names[usize::from(which)].into(),
            Call::Rename => {
                let exists = self.names[0];
                if exists {
                    self.names = [false, true];
                }
                exists.into()
            }
            Call::ListPush(value) => {
                self.list.push_back(value);
                0
            }
            Call::ListPop => self.list.pop_front().map_or(0, u64::from),
            Call::MapSet(key, value) => {
                self.map[usize::from(key)] = Some(value);
                0
            }
            Call::MapBelow(key) => self.map[..usize::from(key)].iter().flatten().count() as u64,
            Call::Append(value) => {
                self.string.push(value);
                0
            }
            Call::Find(value) => {
                let at = self.string.iter().position(|&one| one == value);
                at.map_or(NOTHING, |at| at as u64)
            }
            other => unreachable!("{other:?} is several steps"),
        }
    }

    /// What the end of the program observes of a family.
    fn remainder(&self, family: Family) -> Vec<u64> {
        match family {
            Family::Text => self.text.to_vec(),
            Family::Atomics => self.integers.map(u64::from).to_vec(),
            Family::Pipe => self.pipe.iter().copied().map(u64::from).chain([NOTHING]).collect(),
            Family::File => {
                let bytes = (0..4).map(|at| self.read_at(at));
                bytes.chain([self.offset as u64]).collect()
            }
            Family::Environment => vec![self.variable.into()],
            Family::Tokens => vec![self.rest_token()],
            Family::Process => vec![self.mask.into(), self.directory.into()],
            Family::Events => vec![if self.events == 0 { NOTHING } else { self.events }],
            Family::Names => self.names.map(u64::from).to_vec(),
            Family::Containers => {
                let list = self.list.iter().copied().map(u64::from).chain([0]);
                let map = self.map.iter().flatten().copied().map(u64::from);
                let string = self.string.iter().copied().map(u64::from);
                list.chain(map).chain([0]).chain(string).collect()
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    shared: Shared,
    threads: Vec<Thread>,
}

impl State {
    /// The state after the next step of a thread; none if it cannot run, or is over.
    fn after(&self, number: usize, statements: &[Statement]) -> Option<State> {
        let mut state = self.clone();
        let thread = &mut state.threads[number];
        let statement = statements.get(thread.next)?;
        if statement.call == Call::Sleep {
            thread.sleeps = !thread.sleeps;
            thread.next += usize::from(!thread.sleeps);
            return Some(state);
        }
        let holds = state.shared.holder == Some(number);
        if statement.locked && !holds {
            if state.shared.holder.is_some() {
                return None;
            }
            state.shared.holder = Some(number);
            return Some(state);
        }
        // The mutex is released in a separate step.
        const RELEASES: u8 = u8::MAX;
        if thread.steps == RELEASES {
            state.shared.holder = None;
            (thread.steps, thread.read) = (0, 0);
            thread.next += 1;
            return Some(state);
        }
        match state.shared.step(statement.call, thread.steps, &mut thread.read) {
            Step::More => thread.steps += 1,
            Step::Returns(value) => {
                thread.observed = combine(thread.observed, value);
                if statement.locked {
                    thread.steps = RELEASES;
                } else {
                    (thread.steps, thread.read) = (0, 0);
                    thread.next += 1;
                }
            }
        }
        Some(state)
    }
}

/// Every outcome of a function: what its threads and the end of the program observe, in one number. None if
/// there are more than `most`.
#[must_use]
pub fn outcomes(function: &Function, most: usize) -> Option<BTreeSet<u64>> {
    let threads = vec![Thread::default(); function.threads.len()];
    let begin = State { shared: Shared::begin(), threads };
    let (mut seen, mut open) = (HashSet::from([begin.clone()]), vec![begin]);
    let mut outcomes = BTreeSet::new();
    while let Some(state) = open.pop() {
        let numbered = || function.threads.iter().enumerate();
        let (asleep, awake): (Vec<_>, Vec<_>) =
            numbered().partition(|&(number, _)| state.threads[number].sleeps);
        let steps = |some: Vec<(usize, &Vec<Statement>)>| -> Vec<State> {
            some.into_iter().filter_map(|(number, all)| state.after(number, all)).collect()
        };
        // Two seconds pass only when no thread can run.
        let mut next = steps(awake);
        if next.is_empty() {
            next = steps(asleep);
        }
        if next.is_empty() {
            let observed = state.threads.iter().map(|thread| thread.observed);
            let left = function.families.iter().flat_map(|&family| state.shared.remainder(family));
            outcomes.insert(observed.chain(left).fold(0, combine));
            if outcomes.len() > most {
                return None;
            }
        }
        for next in next {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    Some(outcomes)
}

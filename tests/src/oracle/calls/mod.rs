//! Random functions whose threads call the C library, the C++ library and the kernel, with all outcomes
//! that the meaning of the calls permits.
//!
//! [`functions`] generates functions, [`meaning::outcomes`] enumerates what each can result in, and
//! [`source::text`] prints many functions as one C++ file. The enumeration knows the calls by their
//! documentation, and nothing of how Heddle models them.

pub mod meaning;
pub mod source;

use super::exit_status::Numbers;
use std::collections::BTreeSet;

/// A call of a thread. The small numbers are values or indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `memset` of 16 bytes of the shared text.
    Fill(u8),
    /// `memcpy` of a constant to 16 bytes of the text.
    CopyIn(u8),
    /// `strcpy` of 7 characters to the text.
    ShortString(u8),
    /// `strcpy` of 15 characters to the text.
    LongString(u8),
    /// `strncpy` of 7 characters, which fills 16 bytes.
    Padded(u8),
    /// `snprintf` of a number of 7 digits to the text.
    Print(u8),
    /// `memmove` of the first 8 bytes of the text to the second 8.
    Move,
    /// `strlen` of the text.
    Length,
    /// `strtol` of the text, as the last call of a function.
    Parse,
    /// `strncmp` of 12 bytes of the text with a constant.
    CompareStart(u8),
    /// `strrchr` of a digit in the text, by a pointer to the function.
    LastDigit(u8),
    /// `memcpy` of 16 bytes of the text to a local variable.
    CopyOut,
    /// `memcmp` of 16 bytes of the text with a constant.
    Compare(u8),
    /// `read` of 8 bytes of a file into the text, by a separate descriptor.
    ReadIn,
    /// `write` of 8 bytes of the text to a separate pipe of the thread.
    WriteOut,
    /// `atomic_fetch_add` on one of two integers.
    Add(u8, u8),
    /// `atomic_exchange`.
    Swap(u8, u8),
    /// `atomic_compare_exchange_strong`.
    Replace(u8, u8, u8),
    /// `write` of a byte to a pipe.
    PipeWrite(u8),
    /// `read` of a byte from the pipe, without blocking.
    PipeRead,
    /// `write` of a byte to a file at its offset.
    FileWrite(u8),
    /// `read` of a byte at the offset.
    FileRead,
    /// `lseek`.
    FileSeek(u8),
    /// `pwrite` of a byte.
    FileWriteAt(u8, u8),
    /// `pread` of a byte.
    FileReadAt(u8),
    /// `fstat`: the size.
    FileSize,
    /// `ftruncate`.
    FileTruncate(u8),
    /// `setenv` of a variable that exists.
    SetVariable(u8),
    /// `getenv`.
    GetVariable,
    /// `strtok(NULL)`.
    NextToken,
    /// `umask`.
    Mask(u8),
    /// `chdir` to one of two directories.
    ChangeDirectory(u8),
    /// `getcwd`.
    Directory,
    /// `write` to an event counter.
    EventAdd(u8),
    /// `read` of the event counter, without blocking.
    EventTake,
    /// `open` with `O_CREAT | O_EXCL` of one of two names.
    Create(u8),
    /// `unlink`.
    Remove(u8),
    /// `access`.
    Exists(u8),
    /// `rename` of the first name to the second.
    Rename,
    /// `std::list::push_back` under a lock.
    ListPush(u8),
    /// `std::list::pop_front` under the lock; 0 if it is empty.
    ListPop,
    /// An element of a `std::map` is set, under the lock.
    MapSet(u8, u8),
    /// The number of elements of the map below a key, under the lock.
    MapBelow(u8),
    /// `std::string::push_back` under the lock.
    Append(u8),
    /// `std::string::find` of a character, under the lock.
    Find(u8),
    /// `sleep` of two seconds.
    Sleep,
}

/// What calls act on. The calls of a function are of one or two families, so that they meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The shared text.
    Text,
    /// The integers.
    Atomics,
    /// The pipe.
    Pipe,
    /// The file.
    File,
    /// The environment.
    Environment,
    /// The state of `strtok`.
    Tokens,
    /// The mask of new files and the working directory.
    Process,
    /// The event counter.
    Events,
    /// The names in a directory.
    Names,
    /// The containers of the C++ library.
    Containers,
}

const FAMILIES: [Family; 10] = [
    Family::Text,
    Family::Atomics,
    Family::Pipe,
    Family::File,
    Family::Environment,
    Family::Tokens,
    Family::Process,
    Family::Events,
    Family::Names,
    Family::Containers,
];

/// A statement of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statement {
    /// The call.
    pub call: Call,
    /// Whether it is made under the functions' mutex.
    pub locked: bool,
}

/// A function: its families, and the statements of each thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The families of its calls, each once.
    pub families: Vec<Family>,
    /// The statements of each thread.
    pub threads: Vec<Vec<Statement>>,
}

/// The function of this number.
fn generate(number: usize) -> Function {
    let mut numbers = Numbers(number as u64);
    let mut families = vec![FAMILIES[numbers.below(FAMILIES.len())]];
    // The text occurs more often: its calls are several steps.
    let second = match numbers.below(3) {
        0 => None,
        1 => Some(Family::Text),
        _ => Some(FAMILIES[numbers.below(FAMILIES.len())]),
    };
    families.extend(second.filter(|second| !families.contains(second)));
    families.sort_unstable();
    let threads = 2 + usize::from(numbers.below(4) == 0);
    let most = if threads == 2 { 3 } else { 2 };
    let sleeper = (numbers.below(5) == 0).then(|| numbers.below(threads));
    let locks = numbers.below(3) == 0;
    let mut threads: Vec<Vec<Statement>> = (0..threads)
        .map(|thread| {
            let count = 1 + numbers.below(most);
            let mut statements: Vec<Statement> = (0..count)
                .map(|_| {
                    let family = families[numbers.below(families.len())];
                    let call = call(family, &mut numbers);
                    let locked = locks && family != Family::Containers && numbers.below(2) == 0;
                    Statement { call, locked }
                })
                .collect();
            if sleeper == Some(thread) {
                let at = numbers.below(statements.len() + 1);
                statements.insert(at, Statement { call: Call::Sleep, locked: false });
            }
            statements
        })
        .collect();
    lock_many_tokens(&mut threads);
    Function { families, threads }
}

/// Two calls of `strtok` that overlap have hundreds of classes of interleavings: more calls are made under the mutex.
fn lock_many_tokens(threads: &mut [Vec<Statement>]) {
    let calls: Vec<&mut Statement> =
        threads.iter_mut().flatten().filter(|one| one.call == Call::NextToken).collect();
    if calls.len() > 2 {
        calls.into_iter().for_each(|one| one.locked = true);
    }
}

/// The most outcomes of a function: each one is an exit status.
const MOST: usize = 200;

/// So many functions from this number on, each with its outcomes.
#[must_use]
pub fn functions(first: usize, count: usize) -> Vec<(Function, BTreeSet<u64>)> {
    let known = |number| {
        let function = generate(number);
        let outcomes = meaning::outcomes(&function, MOST)?;
        Some((function, outcomes))
    };
    (first..).filter_map(known).take(count).collect()
}

/// A call of this family.
fn call(family: Family, numbers: &mut Numbers) -> Call {
    let mut below = |end: usize| numbers.below(end) as u8;
    let (which, value, index) = (below(15), 1 + below(3), below(2));
    match family {
        Family::Text => match which {
            0 => Call::Fill(value),
            1 => Call::CopyIn(value),
            2 => Call::ShortString(value),
            3 => Call::LongString(value),
            4 => Call::Print(value),
            5 => Call::Move,
            6 => Call::Length,
            7 => Call::Parse,
            8 => Call::CopyOut,
            9 => Call::Compare(value),
            10 => Call::ReadIn,
            11 => Call::Padded(value),
            12 => Call::CompareStart(value),
            13 => Call::LastDigit(value),
            _ => Call::WriteOut,
        },
        Family::Atomics => match which % 3 {
            0 => Call::Add(index, value),
            1 => Call::Swap(index, value),
            _ => Call::Replace(index, below(3), value),
        },
        Family::Pipe => match which % 2 {
            0 => Call::PipeWrite(value),
            _ => Call::PipeRead,
        },
        Family::File => match which % 7 {
            0 => Call::FileWrite(value),
            1 => Call::FileRead,
            2 => Call::FileSeek(index),
            3 => Call::FileWriteAt(index, value),
            4 => Call::FileReadAt(index),
            5 => Call::FileSize,
            _ => Call::FileTruncate(index),
        },
        Family::Environment => match which % 2 {
            0 => Call::SetVariable(value),
            _ => Call::GetVariable,
        },
        Family::Tokens => Call::NextToken,
        Family::Process => match which % 3 {
            0 => Call::Mask(value),
            1 => Call::ChangeDirectory(index),
            _ => Call::Directory,
        },
        Family::Events => match which % 2 {
            0 => Call::EventAdd(value),
            _ => Call::EventTake,
        },
        Family::Names => match which % 4 {
            0 => Call::Create(index),
            1 => Call::Remove(index),
            2 => Call::Exists(index),
            _ => Call::Rename,
        },
        Family::Containers => match which % 6 {
            0 => Call::ListPush(value),
            1 => Call::ListPop,
            2 => Call::MapSet(value, index),
            3 => Call::MapBelow(value),
            4 => Call::Append(value),
            _ => Call::Find(value),
        },
    }
}

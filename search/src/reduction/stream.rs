//! Which writes to a stream of bytes a read depends on.
//!
//! A stream (a pipe) is an object for what was written and one for what was taken. Writes, and closing an end,
//! change the former; reads change the latter. Each change of the former is a *message*, which is an object, too:
//! the read that needs its bytes receives it, as a semaphore is taken that was posted. So a read comes after the
//! write whose bytes it returns, and commutes with all later writes that do not change what it returns. One that
//! returns less than it asks for would return more after another write: it depends on all writes.

/// Combined with the numbers of a stream and of its message: the message as an object.
const MESSAGES: u64 = 1 << 60;
/// The most groups of messages that a stream holds.
const GROUPS: usize = 16;

/// Messages of one size whose numbers follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Group {
    /// The number of the first one.
    first: u64,
    /// Where its bytes begin, counted from the first byte of the stream.
    from: u64,
    /// The size of each.
    size: u64,
    /// How many there are.
    count: u64,
}

impl Group {
    fn end(&self) -> u64 {
        self.from + self.size * self.count
    }

    /// The message that has this byte: its number, and where its bytes end.
    fn with(&self, byte: u64) -> Option<(u64, u64)> {
        if !(self.from..self.end()).contains(&byte) {
            return None;
        }
        let index = (byte - self.from) / self.size;
        Some((self.first + index, self.from + (index + 1) * self.size))
    }
}

/// What a stream holds, by messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream {
    /// The messages that a read may still need, in order.
    groups: [Group; GROUPS],
    /// The number of groups.
    len: u8,
    /// Whether there were more groups, so that the messages that bytes belong to are not known.
    is_lost: bool,
    /// How many messages there were.
    count: u64,
    /// Whether the last message is one whose bytes are not known yet.
    posted: bool,
    /// How many bytes were there before the first message.
    before: u64,
    /// How many bytes were written.
    written: u64,
    /// How many were taken.
    taken: u64,
    /// The message that closed the last end, so far, through which bytes are written.
    closed: Option<u64>,
    /// Who received a message last, and up to where the bytes are that this reader knows to be there.
    received: (u16, u64),
}

/// What the next read depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing but other reads: the task has received the message that has all bytes.
    Nothing,
    /// This message.
    Message {
        /// Its number.
        number: u64,
        /// Whether no later write changes what the read returns.
        exact: bool,
    },
    /// No message has the bytes, or it is not known which one.
    Unknown,
}

/// A message as an object.
#[must_use]
pub fn message(stream: u32, number: u64) -> u64 {
    MESSAGES | u64::from(stream) << 32 | number & u64::from(u32::MAX)
}

impl Stream {
    /// A stream without bytes or messages.
    pub const NONE: Stream = Stream {
        groups: [Group { first: 0, from: 0, size: 0, count: 0 }; GROUPS],
        len: 0,
        is_lost: false,
        count: 0,
        posted: false,
        before: 0,
        written: 0,
        taken: 0,
        closed: None,
        received: (0, 0),
    };

    /// A stream that holds this many bytes, which no task waits for. Its first message has the number `first`.
    #[must_use]
    pub fn new(first: u64, held: u64) -> Stream {
        Stream { count: first, written: held, before: held, ..Stream::NONE }
    }

    /// The number of the next message.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.count
    }

    /// How many bytes the stream holds.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.written - self.taken
    }

    /// A message begins, which has no bytes yet. `closes`: it closes an end through which bytes are written.
    pub fn post(&mut self, closes: bool) {
        if closes {
            self.closed = Some(self.count);
        }
        self.count += 1;
        self.posted = !closes;
    }

    /// The message that was posted last, or one that was not posted, has this many bytes.
    pub fn write(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        if !std::mem::take(&mut self.posted) {
            self.count += 1;
        }
        let (number, from) = (self.count - 1, self.written);
        self.written += bytes;
        let len = usize::from(self.len);
        let last = self.groups[..len].last_mut();
        match last {
            Some(last) if last.size == bytes && last.first + last.count == number => {
                last.count += 1;
            }
            _ if len == GROUPS => self.is_lost = true,
            _ => {
                self.groups[len] = Group { first: number, from, size: bytes, count: 1 };
                self.len += 1;
            }
        }
    }

    /// The message that has the next byte, and where its bytes end.
    fn first(&self) -> Option<(u64, u64)> {
        let groups = &self.groups[..usize::from(self.len)];
        groups.iter().find_map(|group| group.with(self.taken)).filter(|_| !self.is_lost)
    }

    /// What a read of this many bytes by this reader needs. What was there before the first message needs none.
    /// `ended`: the stream is empty, and no end is left through which bytes are written.
    #[must_use]
    pub fn needs(&self, reader: u16, len: u64, ended: bool) -> Needs {
        let wanted = self.taken.saturating_add(len);
        if wanted <= self.before || self.received.0 == reader && wanted <= self.received.1 {
            return Needs::Nothing;
        }
        if self.taken < self.before {
            return Needs::Unknown;
        }
        match (self.first(), self.closed.filter(|_| ended)) {
            (Some((number, end)), _) => Needs::Message { number, exact: wanted <= end },
            (None, Some(number)) => Needs::Message { number, exact: true },
            (None, None) => Needs::Unknown,
        }
    }

    /// A reader takes this many bytes, after it received what it needs.
    pub fn take(&mut self, reader: u16, bytes: u64) {
        if self.received.0 != reader || self.taken >= self.received.1 {
            self.received = (reader, self.first().map_or(0, |(_, end)| end));
        }
        self.taken += bytes;
        let groups = &self.groups[..usize::from(self.len)];
        let over = groups.iter().take_while(|group| group.end() <= self.taken).count();
        self.groups.copy_within(over.., 0);
        self.len -= over as u8;
        // What is lost now is not known until all of it was taken.
        self.is_lost &= self.held() > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(sizes: &[u64]) -> Stream {
        let mut stream = Stream::NONE;
        for &size in sizes {
            stream.post(false);
            stream.write(size);
        }
        stream
    }

    fn needs(stream: &Stream, reader: u16, len: u64) -> Needs {
        stream.needs(reader, len, stream.closed.is_some())
    }

    fn exactly(number: u64) -> Needs {
        Needs::Message { number, exact: true }
    }

    #[test]
    fn a_read_receives_the_message_that_has_its_first_byte() {
        let mut stream = sent(&[1, 2]);
        assert_eq!(needs(&stream, 1, 1), exactly(0));
        assert_eq!(needs(&stream, 1, 2), Needs::Message { number: 0, exact: false });
        stream.take(1, 1);
        assert_eq!(needs(&stream, 1, 1), exactly(1));
        stream.take(1, 1);
        assert_eq!(needs(&stream, 1, 1), Needs::Nothing);
        assert_eq!(needs(&stream, 2, 1), exactly(1));
        stream.take(1, 1);
        assert_eq!((needs(&stream, 1, 1), stream.held()), (Needs::Unknown, 0));
    }

    #[test]
    fn the_end_of_a_stream_is_the_last_message_that_closed_an_end() {
        let mut stream = sent(&[1]);
        stream.post(true);
        stream.post(true);
        assert_eq!(needs(&stream, 1, 1), exactly(0));
        stream.take(1, 1);
        assert_eq!(needs(&stream, 1, 1), exactly(2));
        assert_eq!(needs(&stream, 1, 9), exactly(2));
    }

    #[test]
    fn bytes_that_were_there_before_need_no_message() {
        let mut stream = Stream::new(7, 3);
        assert_eq!((stream.held(), needs(&stream, 1, 3)), (3, Needs::Nothing));
        stream.post(false);
        stream.write(1);
        assert_eq!(needs(&stream, 1, 4), Needs::Unknown);
        stream.take(1, 3);
        assert_eq!(needs(&stream, 1, 1), exactly(7));
    }

    #[test]
    fn messages_of_one_size_are_one_group() {
        let mut stream = sent(&[3; 1_000]);
        assert_eq!(stream.len, 1);
        for number in 0..999 {
            assert_eq!(needs(&stream, 1, 3), exactly(number));
            assert_eq!(needs(&stream, 1, 4), Needs::Message { number, exact: false });
            stream.take(1, 3);
        }
    }

    #[test]
    fn after_too_many_groups_no_message_is_known_until_the_stream_is_empty() {
        let sizes: Vec<u64> = (1..=GROUPS as u64 + 1).collect();
        let mut stream = sent(&sizes);
        assert_eq!(needs(&stream, 1, 1), Needs::Unknown);
        stream.take(1, sizes.iter().sum());
        stream.post(false);
        stream.write(1);
        assert_eq!(needs(&stream, 1, 1), exactly(GROUPS as u64 + 1));
    }
}

//! What is remembered of one task: the sites that it visited, and what it read and changed since.

/// The most sites of a task that are remembered: those at which it waits, and those at which it
/// retries an operation that may fail.
const VISITS: usize = 32;
pub(super) const TRIED: usize = 8;
/// The most reads of a task that are remembered. A loop with more reads per iteration is not
/// recognised.
const READS: usize = 256;
/// A site that locks is first compared at this visit.
const FIRST_COMPARED: u32 = 8;
/// The most sites of a task that lock and are counted, and the most states at one of them that are
/// remembered: a loop may call a function that locks several times.
const LOCK_SITES: usize = 8;
pub(super) const LOCK_STATES: usize = 4;
/// Marks the contents of a lock, as opposed to its state. Objects are addresses of the program or
/// small numbers, and never have this bit.
pub(super) const CONTENTS: u64 = 1 << 63;
/// Marks an object that an iteration changes and changes back.
pub(super) const RESTORED: u64 = 1 << 62;
/// The most changes of a task that are remembered, in order to see whether it takes them back.
const CHANGES: usize = 16;

/// A visit of a task to a site.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) key: u64,
    pub(super) state: u64,
    /// The number of reads before the task's last visit.
    pub(super) since: usize,
    /// Whether nothing that the task read since has changed.
    pub(super) current: bool,
    /// Whether no other task that makes progress has executed a step since the task left the site.
    pub(super) undisturbed: bool,
    /// The number of changes before the task's last visit.
    pub(super) changes: usize,
    /// The number of the task's unobserved writes at its last visit.
    pub(super) writes: u32,
}

/// How often a task was at a site that locks.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockSite {
    key: u64,
    visits: u32,
    /// The visit from which on its states are compared.
    compared_from: u32,
}

/// What a step of a task read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    /// The object.
    object: u64,
    /// A hash of what the step found there.
    found: u64,
}

/// A change of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    object: u64,
    /// A hash of the content before the change.
    before: u64,
    /// Whether no other task observes the object, and the change is no step.
    is_private: bool,
}

/// An object that a task changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    object: u64,
    /// A hash of the content before the first change.
    before: u64,
    /// A hash of the content after the last change.
    after: u64,
}

/// The state of the detector for one task.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    /// The sites that the task visited since it last changed anything.
    pub(super) visits: Vec<Visit>,
    /// What it read since then, in order.
    pub(super) reads: Vec<Read>,
    /// The last changes since then, which it may take back, in order.
    pub(super) changes: Vec<Change>,
    /// The objects that it changed since its first remembered visit.
    pub(super) words: Vec<Word>,
    /// The number of these changes when it was last at a site where it might spin.
    pub(super) changes_at_site: usize,
    /// While its steps find what those of its last iteration found: the index of the next of these
    /// reads.
    pub(super) retraced: Option<usize>,
    /// The objects that it read since it was last at its current site.
    pub(super) awaited: Vec<u64>,
    /// The number of further writes to memory that is not part of its state and that no other task
    /// observes.
    pub(super) writes: u32,
    /// Its current site, if it may spin there.
    pub(super) at: Option<u64>,
    /// Whether the task has been at its current site before, in the same state.
    pub(super) repeats: bool,
    /// Whether the task had repeated its state at the last site where it might spin.
    pub(super) circles: bool,
    pub(super) stalled: bool,
    /// The last sites at which it executed an operation that may fail.
    pub(super) tried: Vec<u64>,
    /// The last sites at which it acquired a lock.
    pub(super) lock_sites: Vec<LockSite>,
    /// The locks that it acquired since its first remembered visit, and has not released.
    pub(super) held: Vec<u64>,
    /// The number of its unobserved writes when it was last at a site where it might spin.
    pub(super) writes_at_site: u32,
    /// Whether it read a clock since its first remembered visit.
    pub(super) read_clock: bool,
}

impl Watch {
    /// Counts a visit of a site that locks; whether the task's state there is to be compared.
    pub(super) fn is_compared(&mut self, key: u64) -> bool {
        let Some(site) = self.lock_sites.iter_mut().find(|site| site.key == key) else {
            if self.lock_sites.len() == LOCK_SITES {
                self.lock_sites.remove(0);
            }
            self.lock_sites.push(LockSite { key, visits: 1, compared_from: FIRST_COMPARED });
            return false;
        };
        site.visits = site.visits.saturating_add(1);
        site.visits >= site.compared_from
    }

    /// The task made progress since these sites were first compared: they are compared again only
    /// after as many visits as they have had.
    pub(super) fn compare_less(&mut self, is_meant: impl Fn(u64) -> bool) {
        for site in &mut self.lock_sites {
            if site.visits >= site.compared_from && is_meant(site.key) {
                site.compared_from = site.visits.saturating_mul(2);
            }
        }
    }

    /// Whether the task has changed nothing since before its last iteration.
    pub(super) fn is_idle(&self) -> bool {
        self.circles && self.writes == self.writes_at_site
    }

    /// Whether it is unknown what the task waits for.
    pub(super) fn is_vague(&self, blind: bool) -> bool {
        blind || self.reads.is_empty()
    }

    /// Records that the task reads an object, and a hash of what it finds there.
    pub(super) fn record_read(&mut self, object: u64, found: u64) {
        if self.reads.len() == READS {
            let gone = READS / 2;
            self.reads.drain(..gone);
            self.visits.retain(|visit| visit.since >= gone);
            self.visits.iter_mut().for_each(|visit| visit.since -= gone);
            self.retraced = self.retraced.and_then(|at| at.checked_sub(gone));
        }
        let read = Read { object, found };
        self.retraced = self.retraced.filter(|&at| self.reads.get(at) == Some(&read));
        self.retraced = self.retraced.map(|at| at + 1);
        self.reads.push(read);
    }

    /// Records that the task changes an object; false if it has changed too much to take it back.
    pub(super) fn record_change(&mut self, object: u64, before: u64, after: u64) -> bool {
        if !self.has_room_for_change() {
            return false;
        }
        match self.words.iter_mut().find(|word| word.object == object) {
            Some(word) => word.after = after,
            None => self.words.push(Word { object, before, after }),
        }
        self.changes.push(Change { object, before, is_private: false });
        self.record_read(object | RESTORED, before);
        true
    }

    /// Records that the task changes, outside a step, an object that no other task observes. `before`
    /// returns its content, if it can be read. True if the write was only counted: further ones say nothing new
    /// until the task arrives at its next operation.
    pub(super) fn record_write(
        &mut self,
        object: u64,
        before: impl FnOnce() -> Option<u64>,
    ) -> bool {
        let recent = &self.changes[self.changes_at_site..];
        if recent.iter().any(|change| change.is_private && change.object == object) {
            return false;
        }
        let before = if self.has_room_for_change() { before() } else { None };
        match before {
            Some(before) => self.changes.push(Change { object, before, is_private: true }),
            None => self.writes = self.writes.wrapping_add(1),
        }
        before.is_none()
    }

    /// Forgets the oldest changes if there are too many; false if they do not suffice then.
    fn has_room_for_change(&mut self) -> bool {
        if self.changes.len() == CHANGES {
            let gone = CHANGES / 2;
            if self.changes_at_site < gone {
                return false;
            }
            self.visits.retain(|visit| visit.changes >= gone);
            self.changes.drain(..gone);
            self.visits.iter_mut().for_each(|visit| visit.changes -= gone);
            self.changes_at_site -= gone;
        }
        !self.visits.is_empty()
    }

    /// Whether all objects that the task has changed since the visit, privately or as steps, have their
    /// contents of then.
    pub(super) fn has_restored(
        &self,
        visit: &Visit,
        is_private: bool,
        content: impl Fn(u64) -> u64,
    ) -> bool {
        let changes = &self.changes[visit.changes..];
        changes.iter().enumerate().filter(|(_, change)| change.is_private == is_private).all(
            |(at, change)| {
                changes[..at].iter().any(|earlier| earlier.object == change.object)
                    || content(change.object) == change.before
            },
        )
    }

    /// Whether the task left all words that it changes in its loop with their contents from before: none
    /// of them is a lock that it holds.
    pub(super) fn holds_no_word(&self) -> bool {
        self.words.iter().all(|word| word.before == word.after)
    }

    /// Whether the task changes the object in its loop, and changes it back.
    pub(super) fn restores(&self, object: u64) -> bool {
        self.reads.iter().any(|read| read.object == object | RESTORED)
    }

    /// Whether a step in its loop found this in the object, and did not change it.
    pub(super) fn has_read(&self, object: u64) -> bool {
        self.reads.iter().any(|read| read.object == object)
    }

    /// The objects that the task has changed since it was last at a site where it might spin.
    pub(super) fn outstanding(&self) -> Vec<u64> {
        let changes = self.changes[self.changes_at_site..].iter();
        changes.filter(|change| !change.is_private).map(|change| change.object).collect()
    }

    /// The task awaits a change of what it has read since the visit.
    pub(super) fn await_what_was_read_since(&mut self, visit: &Visit) {
        self.awaited.extend(self.reads[visit.since..].iter().map(|read| read.object));
        self.awaited.sort_unstable();
        self.awaited.dedup();
    }

    /// Remembers the visit; `known`: the index of an earlier one in its place.
    pub(super) fn record_visit(&mut self, known: Option<usize>, visit: Visit) {
        match known {
            Some(at) => self.visits[at] = visit,
            None => {
                if self.visits.len() == VISITS {
                    self.visits.remove(0);
                }
                self.visits.push(visit);
            }
        }
        let gone = self.visits.iter().map(|visit| visit.changes).min().unwrap_or(0);
        self.changes.drain(..gone);
        self.visits.iter_mut().for_each(|visit| visit.changes -= gone);
        self.changes_at_site = self.changes.len();
    }

    /// The task has made progress: forgets what it did before, and returns the visits.
    pub(super) fn forget(&mut self) -> Vec<Visit> {
        self.reads.clear();
        self.changes.clear();
        self.words.clear();
        self.awaited.clear();
        self.held.clear();
        (self.circles, self.read_clock) = (false, false);
        (self.retraced, self.changes_at_site) = (None, 0);
        std::mem::take(&mut self.visits)
    }

    /// Another task has changed objects: returns whether the task waited for that. `is_changed`:
    /// whether what the task read is one of them.
    pub(super) fn see_changed(&mut self, is_changed: impl Fn(u64) -> bool) -> bool {
        let changed = |read: u64| read & !(CONTENTS | RESTORED) != 0 && is_changed(read);
        for visit in &mut self.visits {
            visit.current &= !self.reads[visit.since..].iter().any(|read| changed(read.object));
        }
        self.stalled && self.awaited.iter().any(|&read| changed(read))
    }
}

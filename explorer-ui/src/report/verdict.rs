//! The verdict on a failing execution in one sentence, and what it is based on.

use crate::report::calls::requested;
use crate::report::names::{bounded, brief_name, object_name, site_name};
use crate::report::text::{clean, count};
use replay_core::bisect::Evidence;
use replay_core::library_calls::last_own_step;
use replay_core::lock_cycle::Hold;
use replay_core::runner::NoReturn;
use replay_core::verdict::{Basis, Moment, Pattern, Verdict};
use std::cell::RefCell;
use traces::{Failure, FailureKind, HistoryEvent, Operation, Site, Trace};

/// Longer lists of tasks or orders are cut.
const MAX_LISTED: usize = 4;

/// The verdict as a sentence without a full stop.
#[must_use]
pub fn sentence(trace: &Trace, verdict: &Verdict) -> String {
    let writer = Writer { trace, file: RefCell::default() };
    writer.sentence(&verdict.pattern)
}

/// What the verdict is based on, as a continuation of the sentence; empty for the recording alone.
#[must_use]
pub fn basis(verdict: &Verdict) -> String {
    match verdict.basis {
        Basis::Recording => String::new(),
        Basis::AllSchedules => "every schedule fails: all of them were run".to_owned(),
        Basis::Runs(evidence) => runs(&evidence),
    }
}

/// The point of no return of a schedule that fails after `steps` steps; empty if every schedule fails,
/// or if nothing is known but that the schedule itself fails.
#[must_use]
pub fn no_return(found: &NoReturn, steps: usize) -> String {
    match (found.step(), found.before) {
        (Some(step), Some(before)) => {
            let passing = before.executions - before.failing;
            let pass = match (before.complete, before.executions) {
                (true, 1) => "the only schedule passes".to_owned(),
                (true, all) => format!("{passing} of {all} schedules pass"),
                // A share of a sample is no count.
                (false, _) => "some schedules pass".to_owned(),
            };
            match step {
                0 => format!("at the start, {pass}; from step 1 on none"),
                step => format!("until step {step}, {pass}; from step {} on none", step + 1),
            }
        }
        _ if found.lost_after == 0 || found.lost_after >= steps => String::new(),
        _ => format!("from step {} on no schedule passes", found.lost_after),
    }
}

fn runs(evidence: &Evidence) -> String {
    let passing = count(evidence.without_passing as u64, "run");
    let failing = count(evidence.with_failing as u64, "run");
    match () {
        () if evidence.is_exact() => format!("with any other order it passes ({passing})"),
        () if evidence.is_enough() => {
            let others = evidence.without_failing + evidence.without_passing;
            format!(
                "with this order it always failed ({failing}); without it {} of {others} failed",
                evidence.without_failing
            )
        }
        () => {
            let passing = evidence.with_passing + evidence.without_passing;
            let all = passing + evidence.with_failing + evidence.without_failing;
            match passing {
                0 => format!("none of {} passed", count(all as u64, "schedule")),
                _ => format!("{passing} of {} nearby passed", count(all as u64, "schedule")),
            }
        }
    }
}

/// Writes a sentence about a trace. A file is named once; later places in it are lines alone.
struct Writer<'a> {
    trace: &'a Trace,
    /// The file that was named last.
    file: RefCell<String>,
}

impl Writer<'_> {
    fn sentence(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::LockCycle(holds) => listed(holds.iter().map(|hold| self.hold(hold)), "; "),
            Pattern::OwnLock { wait, since } => {
                let waits = format!(
                    "{} waits for {}{}",
                    wait.task,
                    self.object(wait.object),
                    self.at(Some(wait.site))
                );
                let taken = since.map(|at| self.trace.execution.steps[at].site);
                format!("{waits}, but holds it itself{}", self.since(taken))
            }
            Pattern::LostWakeup { wait, wakeup: None } => format!(
                "{} waits for {}{}, and no task is left that wakes it",
                wait.task,
                self.object(wait.object),
                self.at(Some(wait.site))
            ),
            Pattern::LostWakeup { wait, wakeup: Some(wakeup) } => format!(
                "{} came before {} waited for it{}, and no other wake-up follows",
                self.of(*wakeup),
                wait.task,
                self.at(Some(wait.site))
            ),
            Pattern::Between { inner, outer } => self.between(*inner, *outer),
            Pattern::Overlap { one, other } => self.overlap(*one, *other),
            Pattern::Orders(orders) => self.orders(orders),
            Pattern::LastWrite { read, write } => {
                let value = read.step.and_then(|at| self.trace.execution.steps.get(at));
                let value = value.and_then(crate::report::rows::value).unwrap_or_default();
                let object = self.object(read.object);
                let what = format!("{object} {value}");
                let read =
                    format!("{} read {}{}", read.task, what.trim(), self.at(Some(read.site)));
                format!("{read}, which {} wrote last{}", write.task, self.at(Some(write.site)))
            }
            Pattern::Past => self.past().unwrap_or_else(|| self.message()),
            Pattern::Spins(moments) if !moments.is_empty() => {
                let spin = |moment: &Moment| {
                    let name = self.operation(moment).name();
                    let object = object_name(self.trace, moment.object).unwrap_or_default();
                    let what = format!("{name} {object}");
                    let place = self.at(Some(moment.site));
                    format!("{} repeats {}{place}", moment.task, what.trim())
                };
                listed(moments.iter().map(spin), "; ") + "; none makes progress"
            }
            Pattern::Spins(_) | Pattern::Always | Pattern::Message => self.message(),
        }
    }

    /// A task of a cycle of locks.
    fn hold(&self, hold: &Hold) -> String {
        let site = hold.since.map(|at| self.trace.execution.steps[at].site);
        let place = match self.place(site) {
            place if place.is_empty() => place,
            place => format!(" ({place})"),
        };
        let (holds, waits) = (self.object(Some(hold.holds)), self.object(Some(hold.waits)));
        let at = self.at(hold.site);
        format!("{} holds {holds}{place} and waits for {waits}{at}", hold.task)
    }

    fn between(&self, inner: (Moment, Moment), (first, last): (Moment, Moment)) -> String {
        let inner = self.stretch(inner);
        let first_text = self.of(first);
        let never = never(&last);
        format!("{inner} came between {first_text} and {}{never}", self.its(last, first))
    }

    fn overlap(&self, one: (Moment, Moment), other: (Moment, Moment)) -> String {
        let same = |a: Moment, b: Moment| {
            (a.operation, a.object, a.site) == (b.operation, b.object, b.site)
        };
        let (task, second) = (one.0.task, other.0.task);
        // Often both tasks execute the same code.
        if same(one.0, other.0) && same(one.1, other.1) {
            let first = format!("{}{}", self.what(one.0, None), self.at(Some(one.0.site)));
            let last = self.what(one.1, one.0.object);
            let place = self.at(Some(one.1.site));
            return format!(
                "{task} and {second} overlap between the {first} and the {last}{place}: neither \
                 ends before the other begins"
            );
        }
        let (one, other) = (self.stretch(one), self.stretch(other));
        format!("{one}, and {other}, overlap: neither ends before the other begins")
    }

    /// One operation, or the first and the last of several.
    fn stretch(&self, (first, last): (Moment, Moment)) -> String {
        // The unlock of a critical section that its lock stands for says nothing more.
        let (begins, ends) = (self.operation(&first), self.operation(&last));
        let section = begins.acquires_lock() && ends.releases_lock();
        match first == last || (section && first.object == last.object) {
            true => self.of(first),
            false => format!("{} to {}", self.of(first), self.its(last, first)),
        }
    }

    /// Orders; several that have the same earlier operation are one clause.
    fn orders(&self, orders: &[(Moment, Moment)]) -> String {
        let mut clauses: Vec<(Moment, Vec<Moment>)> = Vec::new();
        for &(before, after) in orders {
            match clauses.iter_mut().find(|clause| clause.0 == before) {
                Some(clause) => clause.1.push(after),
                None => clauses.push((before, vec![after])),
            }
        }
        let clause = |(before, afters): &(Moment, Vec<Moment>)| {
            let before = self.of(*before);
            let place = |moment: &Moment| (moment.operation, moment.object, moment.site);
            let after = match afters.as_slice() {
                [first, rest @ ..]
                    if !rest.is_empty()
                        && rest.iter().all(|it| {
                            place(it) == place(first) && it.step.is_none() == first.step.is_none()
                        }) =>
                {
                    let tasks = listed(afters.iter().map(|it| it.task.to_string()), " and ");
                    let what = self.what(*first, None);
                    format!("the {what} by {tasks}{}{}", self.at(Some(first.site)), never(first))
                }
                _ => listed(afters.iter().map(|it| self.of(*it) + never(it)), " and "),
            };
            format!("{before} came before {after}")
        };
        listed(clauses.iter().map(clause), "; ")
    }

    /// `T1's write of x at f.c:9`.
    fn of(&self, moment: Moment) -> String {
        let what = self.what(moment, None);
        format!("{}'s {what}{}", moment.task, self.at_moment(moment))
    }

    /// `its write at f.c:9`, after an operation of the same task that named the object.
    fn its(&self, moment: Moment, before: Moment) -> String {
        format!("its {}{}", self.what(moment, before.object), self.at_moment(moment))
    }

    fn what(&self, moment: Moment, known: Option<u32>) -> String {
        let name = match self.operation(&moment) {
            operation if operation.acquires_lock() => "critical section",
            operation => operation.name(),
        };
        // The object of a task's start and exit is the task itself.
        let object = object_name(self.trace, moment.object).filter(|name| {
            *name != moment.task.to_string() && (known.is_none() || known != moment.object)
        });
        match object {
            Some(object) => format!("{name} of {}", brief_name(&object)),
            None => name.to_owned(),
        }
    }

    /// What user code asked for.
    fn operation(&self, moment: &Moment) -> Operation {
        requested(&self.trace.execution, moment.site, moment.operation)
    }

    fn object(&self, index: Option<u32>) -> String {
        let name = object_name(self.trace, index).filter(|name| !name.is_empty());
        name.map(|name| brief_name(&name)).unwrap_or_else(|| "an object".to_owned())
    }

    /// The place of a site; empty if it is unknown.
    fn place(&self, site: Option<Site>) -> String {
        let place = site.map(|site| site_name(&self.trace.execution, site)).unwrap_or_default();
        self.shortened(place)
    }

    /// A place without its file, if that was named last.
    fn shortened(&self, place: String) -> String {
        let Some((file, line)) = place.rsplit_once(':') else { return place };
        if *self.file.borrow() == file {
            return format!(":{line}");
        }
        file.clone_into(&mut self.file.borrow_mut());
        place
    }

    /// ` at queue.c:12`; of a step in a library alone ` after queue.c:12`, the last line before it.
    fn at_moment(&self, moment: Moment) -> String {
        let execution = &self.trace.execution;
        match moment.step.and_then(|step| last_own_step(execution, step)) {
            Some(own) => format!(" after {}", self.place(Some(execution.steps[own].site))),
            None => self.at(Some(moment.site)),
        }
    }

    /// ` at queue.c:12`; empty if the location is unknown.
    fn at(&self, site: Option<Site>) -> String {
        let place = self.place(site);
        if place.is_empty() { place } else { format!(" at {place}") }
    }

    /// ` since queue.c:12`; empty if the location is unknown.
    fn since(&self, site: Option<Site>) -> String {
        let place = self.place(site);
        if place.is_empty() { place } else { format!(" since {place}") }
    }

    /// The past of the heap block or of the racing accesses.
    fn past(&self) -> Option<String> {
        let failure = self.trace.failure.as_ref()?;
        let event = |event: &HistoryEvent| {
            let place = event.frames.iter().find(|frame| !frame.file.is_empty());
            let place = place.map(|frame| self.shortened(clean(&frame.place())));
            let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
            format!("{} {}{place}", event.task, clean(&event.words()))
        };
        if failure.kind == FailureKind::Race || failure.kind == FailureKind::Conflict {
            let both = listed(failure.past.iter().map(event), ", and ");
            return Some(format!("{both}; nothing orders the two"));
        }
        let freed = failure.past.iter().find(|event| event.what == "freed");
        let event = event(freed.or(failure.past.first())?);
        let task = failure.task.map_or_else(|| "the program".to_owned(), |task| task.to_string());
        let place = self.failed_at(failure);
        let then = match (freed.is_some(), failure.kind) {
            (true, FailureKind::DoubleFree) => format!("{task} freed it again{place}"),
            (true, FailureKind::UseAfterFree) => format!("{task} used it afterwards{place}"),
            _ => format!("{task} failed{place}: {}", short_message(&failure.message)),
        };
        Some(format!("{event}; {then}"))
    }

    fn failed_at(&self, failure: &Failure) -> String {
        match failure.place.as_str() {
            "" => String::new(),
            place => format!(" at {}", self.shortened(clean(place))),
        }
    }

    fn message(&self) -> String {
        let Some(failure) = &self.trace.failure else { return String::new() };
        let message = short_message(&failure.message);
        let place = self.failed_at(failure);
        let names_task =
            matches!(failure.kind, FailureKind::Satisfied | FailureKind::BrokenCondition);
        match failure.task.filter(|_| !names_task) {
            None => format!("{message}{place}"),
            // The messages of assertions begin with the place.
            Some(task) => match message.strip_prefix(&format!("{}: ", failure.place)) {
                Some(rest) => format!("{task} failed{place}: {rest}"),
                None => format!("{task} failed{place}: {message}"),
            },
        }
    }
}

fn never(moment: &Moment) -> &'static str {
    if moment.step.is_none() { ", which did not happen" } else { "" }
}

/// The message of a failure with paths of source files shortened to their names: the directory
/// says little, and it is where the room goes.
#[must_use]
pub fn short_message(message: &str) -> String {
    let message = bounded(message);
    // `queue.c:9:` and `src/queue.rs:9:5:` are places, `a/b` and `std::x/y` are none.
    let is_place = |name: &str| {
        let mut parts = name.split(':');
        let file = parts.next().is_some_and(|file| file.contains('.'));
        let line = parts.next().unwrap_or_default();
        file && !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    };
    let words: Vec<&str> = message.split(' ').collect();
    let short = |(at, word): (usize, &&str)| {
        // The end of a path with a space does not say where the path begins.
        let whole = word.starts_with('/') || at == 0 || !words[at - 1].contains('/');
        match word.rsplit_once('/') {
            Some((_, name)) if whole && is_place(name) => name.to_owned(),
            _ => (*word).to_owned(),
        }
    };
    words.iter().enumerate().map(short).collect::<Vec<_>>().join(" ")
}

fn listed(parts: impl ExactSizeIterator<Item = String>, between: &str) -> String {
    let more = parts.len().saturating_sub(MAX_LISTED);
    let mut parts: Vec<String> = parts.take(MAX_LISTED).collect();
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use replay_core::runner::Prospect;
    use replay_core::verdict::from_recording;

    fn of(trace: &Trace) -> String {
        sentence(trace, &from_recording(trace).expect("it fails"))
    }

    #[test]
    fn sentences_name_tasks_objects_and_lines() {
        assert_eq!(
            of(&samples::deadlock()),
            "T1 holds fork_a (queue.c:9) and waits for fork_b at :10; T2 holds fork_b (:19) and \
             waits for fork_a at :20"
        );
        assert_eq!(
            of(&samples::lost_update()),
            "T1's write of total at queue.c:10 came between T2's read of total at :9 and its write \
             at :10"
        );
        // The block has a past that does not explain a failed assertion.
        assert_eq!(
            of(&samples::assertion()),
            "T1 freed the block at queue.c:12; T1 failed at :34: q.len > 0"
        );
    }

    #[test]
    fn paths_in_messages_are_shortened_and_the_rest_is_not() {
        let message = "/home/me/a b/queue.c:9: f: Assertion `x / 2 == y' failed.";
        assert_eq!(
            short_message(message),
            "/home/me/a b/queue.c:9: f: Assertion `x / 2 == y' failed."
        );
        let message = "thread 'main' panicked at ../app/src/queue.rs:28:5: a/b: not 1";
        assert_eq!(short_message(message), "thread 'main' panicked at queue.rs:28:5: a/b: not 1");
        let message = "/home/me/queue.c:9: f: Assertion `x / 2 == /dev/null' failed.";
        assert_eq!(short_message(message), "queue.c:9: f: Assertion `x / 2 == /dev/null' failed.");
    }

    #[test]
    fn the_point_of_no_return_is_claimed_only_if_it_was_proved() {
        let counted = Prospect { executions: 69, failing: 28, complete: true };
        let sampled = Prospect { complete: false, ..counted };
        let found = |lost_after, passes_after, before| {
            no_return(&NoReturn { lost_after, passes_after, before }, 40)
        };
        let exact = found(18, Some(17), Some(counted));
        assert_eq!(exact, "until step 17, 41 of 69 schedules pass; from step 18 on none");
        let some = found(18, Some(17), Some(sampled));
        assert_eq!(some, "until step 17, some schedules pass; from step 18 on none");
        // Between steps 9 and 18 nothing was proved.
        let later = found(18, Some(9), Some(counted));
        assert_eq!(later, "from step 18 on no schedule passes");
        assert_eq!(found(40, None, None), "");
    }

    #[test]
    fn what_a_verdict_is_based_on() {
        let runs = |with: (usize, usize), without: (usize, usize)| {
            let evidence = Evidence {
                with_failing: with.0,
                with_passing: with.1,
                without_failing: without.0,
                without_passing: without.1,
                other: 0,
            };
            basis(&Verdict { pattern: Pattern::Always, basis: Basis::Runs(evidence) })
        };
        let of = |basis| self::basis(&Verdict { pattern: Pattern::Always, basis });
        assert_eq!(of(Basis::Recording), "");
        assert_eq!(of(Basis::AllSchedules), "every schedule fails: all of them were run");
        assert_eq!(runs((5, 0), (0, 7)), "with any other order it passes (7 runs)");
        assert_eq!(
            runs((5, 0), (2, 7)),
            "with this order it always failed (5 runs); without it 2 of 9 failed"
        );
        assert_eq!(runs((5, 0), (2, 0)), "none of 7 schedules passed");
        assert_eq!(runs((5, 1), (2, 3)), "4 of 11 schedules nearby passed");
    }

    #[test]
    fn a_sentence_for_each_way_to_fail() {
        let trace = samples::lost_update();
        let write = |pattern| Writer { trace: &trace, file: RefCell::default() }.sentence(&pattern);
        let steps = &trace.execution.steps;
        let find = |operation, task: u16| {
            let is = |step: &traces::Step| step.operation == operation && step.task.0 == task;
            let at = steps.iter().position(is).expect("the sample has the step");
            let traces::Step { task, operation, object, site, .. } = steps[at];
            Moment { task, operation, object, site, step: Some(at) }
        };
        let (read, write_1) = (find(Operation::Read, 2), find(Operation::Write, 1));
        let write_2 = find(Operation::Write, 2);
        let since = read.step;
        let sentences = [
            write(Pattern::OwnLock { wait: write_1, since }),
            write(Pattern::OwnLock { wait: write_1, since: None }),
            write(Pattern::LostWakeup { wait: write_1, wakeup: None }),
            write(Pattern::LostWakeup { wait: write_1, wakeup: Some(read) }),
            write(Pattern::Between { inner: (write_1, write_1), outer: (read, write_2) }),
            write(Pattern::Overlap { one: (read, write_2), other: (write_1, write_1) }),
            write(Pattern::Orders(vec![(write_1, Moment { step: None, ..read })])),
            write(Pattern::LastWrite { read, write: write_1 }),
            write(Pattern::Spins(vec![read])),
        ];
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn the_past_of_a_block_or_of_a_race() {
        let of = |kind| {
            let mut trace = samples::assertion();
            trace.failure.as_mut().expect("it fails").kind = kind;
            Writer { trace: &trace, file: RefCell::default() }.sentence(&Pattern::Past)
        };
        assert_eq!(
            of(FailureKind::DoubleFree),
            "T1 freed the block at queue.c:12; T1 freed it again at :34"
        );
        assert_eq!(
            of(FailureKind::UseAfterFree),
            "T1 freed the block at queue.c:12; T1 used it afterwards at :34"
        );
        let race = of(FailureKind::Race);
        assert!(race.ends_with("; nothing orders the two"), "{race}");
    }
}

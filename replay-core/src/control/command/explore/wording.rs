//! The sentences of a report and of the notes during a search.

use super::round::Counts;
use crate::control::command::execution::{Outcome, reset_name};
use crate::control::ending::ATTEMPTS;
use crate::symbols::{Symbols, demangle};
use crate::{Error, StrategyChoice, Target};
use nix::sys::resource::{UsageWho, getrusage};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use traces::points::InstrumentationGap;
use traces::report::{Bug, Report, Verdict};
use traces::wire::{
    CALL_IN_PARTS, LEFT_FILE, OVERLAPPING_USE, PROCESSOR_CLOCK, Reset, UNKNOWN_INSTRUCTION,
};
use traces::{Execution, Module, Site};

/// Why a search that has no more executions to run does not cover every schedule. `refuted`: a random
/// walk, which checks a reduction, ended in a class of executions that the search had not found.
pub(super) fn uncovered(choice: StrategyChoice, refuted: bool) -> String {
    let strategy = choice.name();
    let covers = choice == StrategyChoice::AUTO || choice.descriptor().bound.is_some();
    match (refuted, covers) {
        (true, _) => format!(
            "a random walk that checked {strategy} ended as no execution of the search did: steps depend \
             on each other in a way that Heddle does not see; --strategy dfs needs no such knowledge (--bound N \
             limits its preemptions)"
        ),
        (false, false) if choice == StrategyChoice::STATELESS => format!(
            "{strategy} is finished, but does not cover every schedule: the program uses a read-write lock, a \
             time limit, a spin loop, a pipe or socket, a counter or a test harness, whose orders it does not \
             know; --strategy dpor does"
        ),
        (false, true) => format!(
            "{strategy} is finished, but does not cover every schedule: a loop that was in a new state \
             after each iteration was followed for some of them, or an execution was not observed to its end"
        ),
        (false, false) => format!("{strategy} is finished, but does not cover every schedule"),
    }
}

/// How a search without a failure ended that is not complete.
pub(super) struct Ended<'a> {
    /// The limit that ended it, or the error; empty if there was none.
    pub(super) limit: &'a str,
    /// The executions, with those of the learning phase.
    pub(super) executions: u64,
    /// The executions that were given up because they would have repeated others.
    pub(super) given_up: u64,
    pub(super) is_interrupted: bool,
    /// Whether a failure depends on something outside of the schedule.
    pub(super) is_outside: bool,
    /// The executions that reached the limit on steps.
    pub(super) cut: u64,
    /// Executions in which the program sent something else to a client than in the recording.
    pub(super) outside: u64,
    pub(super) step_limit: u64,
    /// Whether executions are cut after a beginning (`--beginnings`).
    pub(super) has_beginnings: bool,
    /// Whether every schedule was run, but executions leave files.
    pub(super) leaves_files: bool,
    /// Whether every schedule was run, but not every access was observed.
    pub(super) is_unobserved: bool,
    /// Whether more executions were allowed.
    pub(super) may_continue: bool,
}

impl Ended<'_> {
    /// Why the search does not cover every schedule. `strategy` gives the reason for a search that has
    /// nothing more to run.
    pub(super) fn reason(&self, strategy: impl FnOnce() -> String) -> String {
        let (cut, most) = (self.cut, self.step_limit);
        match () {
            () if !self.limit.is_empty() && self.executions > 0 => self.limit.to_owned(),
            // Nothing of the program is known then.
            () if !self.limit.is_empty() => format!(
                "{} before the first execution ended: the program computes, waits or allocates for \
                 longer than that; use smaller input, raise --max-time, or limit its memory \
                 (--max-memory)",
                self.limit
            ),
            () if self.is_interrupted => "interrupted".to_owned(),
            () if self.is_outside => {
                "an execution failed and did not fail when its schedule was run again".to_owned()
            }
            () if self.outside > 0 && cut == 0 => format!(
                "{} executions ended where the program sent a client something else than in the recording",
                self.outside
            ),
            () if cut > 0 && self.has_beginnings => format!(
                "{cut} executions ended at their limit on steps (at most {most}): --beginnings 0 runs \
                 each to its end"
            ),
            () if cut > 0 => format!(
                "{cut} executions reached their limit on steps (at most {most}): they made no progress, \
                 or --max-steps N allows more"
            ),
            () if self.leaves_files => {
                "every schedule was run, but executions find files that earlier ones left"
                    .to_owned()
            }
            () if self.is_unobserved => {
                "every schedule was run, but not every memory access could be observed".to_owned()
            }
            () if self.may_continue => strategy(),
            () if self.given_up > 0 => format!(
                "the limit on executions was reached, of which {} were given up because they would have \
                 repeated others",
                self.given_up
            ),
            () => "the limit on executions was reached".to_owned(),
        }
    }
}

/// The reason of a search with failures that were seen once: the first of `all`.
pub(super) fn not_confirmed(first: &Bug, all: usize) -> String {
    let more = match all {
        1 => String::new(),
        all => format!(" (and {} more)", all - 1),
    };
    format!("{} was seen once and not confirmed{more}: {}", first.kind, first.message)
}

/// The note for a program that the compiler did not instrument.
pub(super) const NO_STORE_BUFFERS: &str = "--store-buffers has no effect: the program is not instrumented; \
                                           build it with `heddle build`";

/// Why a failure that was found counts as seen once: how its schedule ended when it was run again. None if it
/// failed again, or if that is not known.
pub(super) fn why_missing(again: &Outcome) -> Option<String> {
    match again {
        Outcome::Recorded(trace) => trace.failure.is_none().then(|| {
            "its schedule did not fail when it was run again: it depends on something outside of the \
             schedule"
                .to_owned()
        }),
        Outcome::Diverged { step, what } => {
            Some(format!("its schedule diverged at step {step} when it was run again: {what}"))
        }
        Outcome::Died { how, from_outside: true } => {
            Some(format!("when its schedule was run again, {how}"))
        }
        Outcome::Died { .. } | Outcome::Interrupted => None,
    }
}

/// The note for a program with clients: so many were recorded.
pub(super) fn clients_note(clients: usize, live: usize) -> Option<String> {
    if live > 0 {
        let which = if live == 1 { "the client".to_owned() } else { format!("{live} clients") };
        return Some(format!(
            "{which} ran in each execution (--live-clients): what they do was not explored, only observed"
        ));
    }
    let sender = match clients {
        0 => return None,
        1 => "the client sends what it".to_owned(),
        count => format!("each of the {count} clients sends what it"),
    };
    Some(format!(
        "assuming that {sender} sent when it was recorded, after the same answers: the orders in which the program gets \
         this were explored (--client)"
    ))
}

/// The note on executions in which a client would have got something else than in the recording.
pub(super) fn outside_note(executions: u64) -> Option<String> {
    (executions > 0).then(|| {
        format!(
            "{executions} executions ended where the program sent a client something else than in the recording: \
             --live-clients explores what the clients do then"
        )
    })
}

/// The note for a search that began in the middle of an execution.
pub(super) fn begin_note(place: &str) -> Option<String> {
    let what = match place {
        "" => return None,
        "idle" => "where the program first waits".to_owned(),
        place => format!("at {place}"),
    };
    Some(format!(
        "the search began {what}: everything before that was run in one order (--begin-at)"
    ))
}

/// What a message adds if a step of the execution is late by its task's clock: programs that take sleeps for
/// an order fail in such executions only.
pub(super) fn late(execution: &Execution) -> String {
    // Which thread is meant differs: a harness's main, which is held back, has the least clock of all.
    let most = execution.deadlines.iter().filter_map(|note| note.late).map(|(_, by)| by).max();
    most.map_or_else(String::new, |by| {
        format!(
            "; a step is up to {} late by its thread's clock (--slack 0 tries no such schedule)",
            traces::seconds(by)
        )
    })
}

/// The note for a load that a store buffer would let execute early. `object` is the variable, if it is known.
pub(super) fn delayed_store(object: Option<&str>, load: &str, store: &str) -> String {
    let object = object.map(|name| format!("{name}: ")).unwrap_or_default();
    format!(
        "{object}the load at {load} can execute before the store at {store} is visible to other threads"
    )
}

/// The note for a trace that could not be saved where it should be.
pub(super) fn saved_elsewhere(error: &Error, instead: Option<&Path>) -> String {
    let what = match instead {
        Some(path) => format!("it was saved as {} instead", path.display()),
        None => "it is lost: search again with another --out".to_owned(),
    };
    format!("{error}; {what}")
}

/// Reasons why some memory accesses could not be observed.
pub(super) fn unobserved(total: &Counts, target: &Target) -> Vec<String> {
    let mut described = InstrumentationGap::Marked as u64
        | InstrumentationGap::Held as u64
        | InstrumentationGap::Deadlines as u64
        | InstrumentationGap::Seconds as u64
        | InstrumentationGap::Times as u64
        | InstrumentationGap::Reuse as u64;
    if !total.unknown_calls.is_empty() {
        described |= InstrumentationGap::Calls as u64 | InstrumentationGap::Forms as u64;
    }
    let mut unobserved: Vec<String> = InstrumentationGap::among(total.unseen & !described)
        .map(|one| one.describe().to_owned())
        .collect();
    unobserved.extend(unknown_calls(total, target));
    if total.probes_removed > 0 {
        unobserved.push(probes_removed(total.probes_removed));
    }
    unobserved
}

/// The line for executions whose accesses were not observed to their ends.
fn probes_removed(executions: u64) -> String {
    let executions = match executions {
        1 => "1 execution".to_owned(),
        more => format!("{more} executions"),
    };
    format!("in {executions} not every memory access was observed, because there were too many")
}

/// A line for each function whose effects are unknown, with the place of a call in the program.
fn unknown_calls(total: &Counts, target: &Target) -> Vec<String> {
    if total.unknown_calls.is_empty() {
        return Vec::new();
    }
    let path = target.program.to_string_lossy().into_owned();
    let symbols = Symbols::of_modules(&[Module { path, build_id: target.build_id.clone() }]);
    let line = |((name, library), &(module, offset)): (&(String, String), &(u64, u64))| {
        let frames = match module {
            0 => symbols.frames(Site { module: 0, offset }, true),
            _ => Vec::new(),
        };
        unknown_call(name, library, frames.first().map(traces::Frame::place))
    };
    total.unknown_calls.iter().map(line).collect()
}

/// The line for a call of this name in a library, from this place of the program.
fn unknown_call(name: &str, library: &str, place: Option<String>) -> String {
    let from = place.map(|place| format!(", from {place}")).unwrap_or_default();
    if let Some(mnemonic) = name.strip_prefix(UNKNOWN_INSTRUCTION) {
        return format!(
            "not explored: accesses of the instruction `{mnemonic}` in {library}{from}: the extent of \
             what it reads and writes is not known"
        );
    }
    if let Some(mnemonic) = name.strip_prefix(PROCESSOR_CLOCK) {
        return format!(
            "not explored: the values of the instruction `{mnemonic}` in {library}{from}: they are the \
             processor's time and not the program's; read a clock with clock_gettime"
        );
    }
    if let Some(state) = name.strip_prefix(OVERLAPPING_USE) {
        return format!(
            "not explored: calls in several threads that use {state} at the same time{from}: {library} \
             does not protect it; hold a lock around these calls"
        );
    }
    if let Some(function) = name.strip_prefix(CALL_IN_PARTS) {
        return format!(
            "not explored: the moments within a call of `{function}`{from}: a call is one step, and another \
             thread accesses the same memory at the same time; hold a lock around both"
        );
    }
    if let Some(path) = name.strip_prefix(LEFT_FILE) {
        return format!(
            "not explored: executions without the files of earlier ones: the program leaves `{path}` \
             changed{from}; remove it at the end, or write in the working directory (--scratch)"
        );
    }
    if name.contains(' ') {
        // Something else than a function, whose name has no spaces.
        return format!("not explored: {name} ({library}){from}");
    }
    format!(
        "not explored: calls of `{}` in {library}{from}: what the function reads and writes is not known",
        demangle(name)
    )
}

/// The note for a search of one test of a harness.
pub(super) const HARNESS_NOTE: &str = "main belongs to the test harness: it ran only when no thread of the test could \
                            (--harness)";

/// The note for a search in which preemptions were limited to parts of the code.
pub(super) fn scope_note([atomic, focus, serial]: &[Vec<String>; 3]) -> Option<String> {
    let no = (!atomic.is_empty()).then(|| format!("no preemptions in {}", atomic.join(", ")));
    let of = (!serial.is_empty()).then(|| format!("no preemptions of {}", serial.join(", ")));
    let only = (!focus.is_empty()).then(|| format!("preemptions only in {}", focus.join(", ")));
    let all: Vec<String> = only.into_iter().chain(no).chain(of).collect();
    (!all.is_empty()).then(|| {
        format!("the search was scoped: {}; other schedules were not explored", all.join(", "))
    })
}

/// A step takes less than a microsecond. Above this limit, most time is spent outside scheduling,
/// even on a busy machine that starts the program anew for each execution.
const SLOW: Duration = Duration::from_millis(10);
/// Shorter searches are dominated by start-up cost.
const BEGINS: Duration = Duration::from_secs(2);

/// The processor time of all processes of the program that have ended. On a machine with other work
/// the time of the clock says nothing about the program.
pub(super) fn used_by_children() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let all = usage.user_time() + usage.system_time();
    let seconds = u64::try_from(all.tv_sec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(all.tv_usec()).unwrap_or(0))
}

/// The note for a program that spends its time between scheduling points, so that few schedules
/// were run.
pub(super) fn slow_note(busy: Duration, steps: u64) -> Option<String> {
    let each = busy.checked_div(u32::try_from(steps).ok()?)?;
    (busy >= BEGINS && each >= SLOW).then(|| {
        format!(
            "most of the time was spent between scheduling points ({} ms per step): use smaller \
             input, or start executions later (heddle_begin)",
            each.as_millis()
        )
    })
}

/// The notes on executions that something outside of the program ended.
pub(super) fn disturbance_notes(
    disturbances: &BTreeMap<String, u64>,
) -> impl Iterator<Item = String> {
    disturbances.iter().map(|(how, &times)| {
        let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        format!(
            "something outside of the program ended one of its processes ({times}): {how}; its \
                 executions were run again"
        )
    })
}

/// The note for a search with spurious wake-ups.
pub(super) fn spurious_note(spurious: u32) -> Option<String> {
    let waits = if spurious == 1 { "1 wait".to_owned() } else { format!("{spurious} waits") };
    (spurious > 0).then(|| format!("up to {waits} of each thread could wake up spuriously"))
}

/// The note for a search with short transfers.
pub(super) fn short_counts_note(transfers: u32) -> Option<String> {
    let transfers = match transfers {
        0 => return None,
        1 => "1 transfer".to_owned(),
        more => format!("{more} transfers"),
    };
    Some(format!("up to {transfers} of each thread over network connections could be short"))
}

/// The note for a program that changes files in its working directory.
pub(super) fn file_note(is_private: bool, refused: Option<String>) -> Option<String> {
    if is_private {
        return Some(
            "the program changes files in its working directory: each execution had its own copy \
             (--scratch)"
                .to_owned(),
        );
    }
    let why = refused?;
    Some(format!(
        "the program changes files in its working directory, and executions see what earlier ones \
         left: {why}"
    ))
}

/// The note for a search in which more freed blocks could have come back.
pub(super) fn reuse_note(reuse: u32) -> String {
    let blocks = match reuse {
        0 => "no freed block comes back".to_owned(),
        1 => "one freed block at most comes back".to_owned(),
        more => format!("{more} freed blocks at most come back"),
    };
    format!(
        "assuming that {blocks} at its old address in one execution: addresses of freed blocks are compared (--reuse)"
    )
}

/// The note for a search in which deadlines were not due.
pub(super) fn slack_note(slack: u64) -> String {
    format!(
        "assuming that no step is later than {} by its thread's clock: deadlines that expire only if one \
         is were not tried (--slack)",
        traces::seconds(slack)
    )
}

/// Notes that limit what the report claims: a search that explored nothing must not look like a
/// search that found nothing.
///
/// `delays`: whether deadlines were not tried, so that other schedules exist. `over`: whether the search
/// continued to its end, so that what it did not observe matters also beside failures.
pub(super) fn notes(
    report: &Report,
    mut notes: Vec<String>,
    delays: bool,
    over: bool,
) -> Vec<String> {
    if report.executions == 0 || !matches!(report.verdict, Verdict::Clean | Verdict::Incomplete) {
        return if over && report.verdict == Verdict::Bug { notes } else { Vec::new() };
    }
    if report.cut > 0 && !report.reason.contains("their limit on steps") {
        let (cut, limit) = (report.cut, report.step_limit);
        notes.push(format!("{cut} executions reached their limit on steps (at most {limit})"));
    }
    // An execution that reached the limit could have created one later.
    if report.threads <= 1 && report.cut == 0 {
        notes.push("the program created no thread: there was nothing to interleave".to_owned());
    } else if report.distinct == 1 && !delays && (report.complete || report.classes > 1) {
        notes.push(
            "every execution was the same: the threads share no scheduling point, or their shared \
             accesses are not observed (see --points)"
                .to_owned(),
        );
    }
    notes
}

/// The note for executions before the search. `failed` says which of them failed first, and how.
pub(super) fn warmed_up(ran: u32, failed: Option<&str>) -> String {
    let executions = if ran == 1 { "execution" } else { "executions" };
    let failed = failed.map(|failed| format!("; {failed}")).unwrap_or_default();
    format!("{ran} warm-up {executions} created files and caches before the search{failed}")
}

/// The reason of a search in which an execution did not follow the prefix of its piece.
pub(super) fn left_prefix(step: u64, what: &str) -> String {
    format!("an execution diverged from its prefix at step {step}: {what}")
}

/// The reason of a search that ended because processes of the program die.
pub(super) fn many_deaths(how: &str) -> String {
    format!("too many processes of the program died: {how}")
}

/// The note if the requested reset is not possible.
pub(super) fn other_reset(requested: Reset, instead: Reset, why: &str) -> String {
    let [requested, instead] = [requested, instead].map(reset_name);
    format!("{instead} reset is used instead of {requested}: {why}")
}

/// The error if something ends each process that runs a piece.
pub(super) fn disturbed(program: &Path, how: &str) -> String {
    format!(
        "{}: its process was ended from outside at each of {ATTEMPTS} attempts: {how}",
        program.display()
    )
}

/// The note if the saved points of the learning phase are not those of this program.
pub(super) fn learns_again(file: &Path) -> String {
    format!(
        "{}: the program behaves differently (other input, or other libraries): the learning phase runs \
         again",
        file.display()
    )
}

/// The note if a search with failures cannot continue.
pub(super) fn ended_early(error: &Error) -> String {
    format!("the search ended early: {error}")
}

/// The note for a failure that did not occur again.
pub(super) fn seen_once(bug: &Bug) -> String {
    format!("{} was seen once: {}", bug.kind, bug.message)
}

/// The error if the program wrote to the memory that it shares with Heddle.
pub(super) fn overwritten(program: &Path, error: impl std::fmt::Display) -> Error {
    Error::Runtime(format!(
        "{} overwrote the memory that it shares with Heddle, so there is no result: {error}",
        program.display()
    ))
}

/// The error if the program ended before the runtime could begin.
pub(super) fn never_began(program: &Path, how: &str) -> Error {
    Error::Target(format!(
        "{} ended before main: {how}; check that it runs without Heddle",
        program.display()
    ))
}

#[cfg(test)]
mod tests;

//! Several test programs at a time. `cargo test` runs one after another, and a processor idles while the
//! last test of each waits or runs alone.

use crate::heddle::end_within;
use std::fs::File;
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A test program.
#[derive(Debug)]
pub struct Job {
    /// What the result is reported under.
    pub name: String,
    /// How it is run.
    pub command: Command,
}

/// The result of one.
#[derive(Debug)]
pub struct Done {
    /// The name of the job.
    pub name: String,
    /// How it ended; none if it was ended because it took too long.
    pub status: Option<ExitStatus>,
    /// What it printed on both streams.
    pub output: String,
    /// How long it ran.
    pub elapsed: Duration,
}

impl Done {
    /// Whether all its tests passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs all jobs, so many at a time, each for at most `bound`. `report` gets each result as soon as it is
/// there, one at a time.
///
/// # Errors
/// If a job cannot be started or its output cannot be kept.
///
/// # Panics
/// If `report` does.
pub fn run(
    jobs: Vec<Job>,
    at_a_time: usize,
    bound: Duration,
    report: impl FnMut(Done) + Send,
) -> io::Result<()> {
    let jobs: Vec<Mutex<Job>> = jobs.into_iter().map(Mutex::new).collect();
    let (next, report) = (AtomicUsize::new(0), Mutex::new(report));
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
            let done = run_one(&mut job.lock().expect("one thread has each job"), bound)?;
            (report.lock().expect("no report panicked"))(done);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_a_time.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no report panicked"))
    })
}

fn run_one(job: &mut Job, bound: Duration) -> io::Result<Done> {
    // A pipe would need a reader, and whatever process a test leaves behind would keep it open.
    let kept = tempfile::NamedTempFile::new()?;
    let streams: File = kept.reopen()?;
    job.command.stdin(Stdio::null()).stdout(streams.try_clone()?).stderr(streams);
    let began = Instant::now();
    let mut child = job.command.spawn()?;
    let status = end_within(&mut child, bound)?;
    let output = String::from_utf8_lossy(&std::fs::read(kept.path())?).into_owned();
    Ok(Done { name: job.name.clone(), status, output, elapsed: began.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(scripts: &[(&str, &str)]) -> Vec<Job> {
        let job = |&(name, script): &(&str, &str)| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            Job { name: name.to_owned(), command }
        };
        scripts.iter().map(job).collect()
    }

    fn results(scripts: &[(&str, &str)], at_a_time: usize, bound: Duration) -> Vec<Done> {
        let mut results = Vec::new();
        run(jobs(scripts), at_a_time, bound, |done| results.push(done)).expect("sh is there");
        results.sort_by(|a, b| a.name.cmp(&b.name));
        results
    }

    #[test]
    fn each_result_has_its_status_and_both_streams() {
        let scripts =
            [("a", "echo one; echo two >&2"), ("b", "echo three; exit 7"), ("c", "kill -9 $$")];
        for at_a_time in [0, 1, 2, 5] {
            let results = results(&scripts, at_a_time, Duration::from_secs(60));
            let passed: Vec<bool> = results.iter().map(Done::passed).collect();
            assert_eq!(passed, [true, false, false], "{results:?}");
            assert_eq!(
                (results[0].output.as_str(), results[1].output.as_str()),
                ("one\ntwo\n", "three\n")
            );
        }
    }

    /// The first one ends only if the second one runs at the same time.
    #[test]
    fn jobs_run_at_the_same_time() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        let pipe = pipe.display();
        let scripts = [("a", format!("echo met > {pipe}")), ("b", format!("cat {pipe}"))];
        let scripts = scripts.each_ref().map(|(name, script)| (*name, script.as_str()));
        let results = results(&scripts, 2, Duration::from_secs(60));
        assert!(results.iter().all(Done::passed), "{results:?}");
        assert_eq!(results[1].output, "met\n");
    }

    #[test]
    fn a_job_that_does_not_end_is_ended_and_has_not_passed() {
        let scripts = [("a", "echo begun; exec sleep 600"), ("b", "true")];
        let results = results(&scripts, 1, Duration::from_secs(1));
        assert_eq!((results[0].status, results[0].output.as_str()), (None, "begun\n"));
        assert!(!results[0].passed() && results[1].passed());
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let job = Job { name: "none".to_owned(), command: Command::new("/no/such/program") };
        assert!(run(vec![job], 2, Duration::from_secs(60), drop).is_err());
    }
}

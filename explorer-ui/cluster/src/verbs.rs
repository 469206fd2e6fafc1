//! The verbs: explore, test, worker, cluster.

use crate::announcements::{announce, announced, finish, list};
use crate::bundle::Bundle;
use crate::collector::{Listener, RemotePool};
use crate::divided::DividedPool;
use crate::embedded::{ADDRESS, Embedded, random_word};
use crate::machines::{Change, Table};
use crate::protocol::{
    Announcement, HEARTBEAT, HEARTBEATS, Heartbeat, State, VERSION, check_name, default_name, pack,
};
use crate::quiet::Quiet;
use crate::server::Server;
use crate::stored::{self, Stored};
use crate::{trust, worker};
use explorer_ui::cli::arguments::{
    ClusterArgs, ClusterSearchArgs, ClusterStatusArgs, ClusterTracesArgs, ClusterVerb, ExploreArgs,
    TestArgs, WorkerArgs,
};
use explorer_ui::cli::settings::Settings;
use explorer_ui::commands::cluster::Verbs;
use explorer_ui::console::Console;
use explorer_ui::exit::{Problem, Status};
use explorer_ui::processors;
use explorer_ui::report::json_text;
use explorer_ui::report::text::clean;
use replay_core::pieces::SearchOrder;
use replay_core::{
    Collector, Error, Observer, Progress, SearchOptions, StrategyChoice, Target, WorkerPool,
    this_build,
};
use search::Frontier;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};
use traces::Trace;
use traces::report::{Bug, Report};

/// The verbs of this program.
pub(crate) struct Cluster;

impl Verbs for Cluster {
    fn explore(&self, mut args: ExploreArgs, console: &Console) -> Result<Status, Problem> {
        let cluster = args.cluster.clone();
        let mut embedded = None;
        let options = settings(&args)?.options;
        share(&options)?;
        let (url, workers) = match cluster.cluster.as_deref().unwrap_or_default() {
            "embedded" => (embedded.insert(Embedded::start(options.workers)?).url(), 1),
            url => (url.to_owned(), options.workers),
        };
        // The results come through one thread.
        args.search.program.workers = Some(1);
        let shown = Shown { console, json: args.search.json == Some(true) };
        let status = explorer_ui::commands::explore::main_with(
            args,
            console,
            &|target, settings, interrupted, observer| {
                let observer = &mut WithMachines { inner: observer, shown: &shown, last: None };
                let order = (target, settings, workers);
                search(&url, &cluster, order, interrupted, observer, &shown)
            },
        );
        drop(embedded);
        status
    }

    fn test(&self, mut args: TestArgs, console: &Console) -> Result<Status, Problem> {
        share(&settings(&explorer_ui::commands::test::explore_arguments(&args.options)?)?.options)?;
        let url = args.cluster.cluster.clone().unwrap_or_default();
        let mut embedded = None;
        if url == "embedded" {
            let workers = *args.suite.jobs.get_or_insert_with(processors::count);
            let cluster = embedded.insert(Embedded::start(workers)?);
            args.cluster.cluster = Some(cluster.url());
        } else if !args.suite.list {
            let server = Server::connect(&url, &args.cluster.connection)?;
            let _context = server.context();
            let machines = machines(&server)?.counts();
            if machines.present == 0 {
                console.note(&format!("heddle: {}", no_machine(&server.address)));
            }
            // A search runs while its time passes only if there is a machine for it.
            args.suite.jobs.get_or_insert(machines.present.max(1));
        }
        let status = explorer_ui::commands::test::main(args, console);
        drop(embedded);
        status
    }

    fn worker(&self, args: &WorkerArgs, console: &Console) -> Result<Status, Problem> {
        let url = match args.url.as_str() {
            "embedded" => std::env::var(ADDRESS).unwrap_or_default(),
            url => url.to_owned(),
        };
        worker::main(args, &url, console)
    }

    fn cluster(&self, verb: &ClusterVerb, console: &Console) -> Result<Status, Problem> {
        match verb {
            ClusterVerb::Status(args) => status(args, console),
            ClusterVerb::Cancel(args) => cancel(args, console),
            ClusterVerb::Traces(args) => traces(args, console),
            ClusterVerb::Key { path } => {
                let (key, public) = trust::make_key(path).map_err(Problem::Usage)?;
                console.print(&key_made(path, &public, &key))?;
                Ok(Status::Fine)
            }
        }
    }
}

/// The settings of a search with these options.
fn settings(args: &ExploreArgs) -> Result<Settings, Problem> {
    Settings::explore(args, explorer_ui::cli::config_file::load(Path::new("."))?)
}

/// Where messages about machines go.
struct Shown<'a> {
    console: &'a Console,
    json: bool,
}

impl Shown<'_> {
    fn object(&self, object: &serde_json::Value) {
        self.console.note(&json_text::text(object));
    }

    fn line(&self, line: &str) {
        if self.console.stderr_is_terminal {
            // The progress line is there.
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
        self.console.note(&format!("heddle: {line}"));
    }
}

impl Listener for Shown<'_> {
    fn machine(&self, change: &Change) {
        if self.json {
            let (event, beat) = match change {
                Change::Joined(beat) => ("joined", beat),
                Change::Left(beat) => ("left", beat),
                Change::Lost(beat) => ("lost", beat),
                Change::Refuses(beat) => ("refuses", beat),
            };
            self.object(&json!({
                "event": event, "machine": beat.machine, "workers": beat.workers, "why": beat.refuses,
            }));
        } else {
            self.line(&change.describe());
        }
    }

    fn note(&self, line: &str) {
        match self.json {
            true => self.object(&json!({ "event": "note", "note": line })),
            false => self.line(line),
        }
    }
}

/// Passes on what a search reports; with `--json`, also as lines on standard error.
struct WithMachines<'a> {
    inner: &'a mut dyn Observer,
    shown: &'a Shown<'a>,
    last: Option<Instant>,
}

impl Observer for WithMachines<'_> {
    fn progress(&mut self, progress: &Progress) {
        if !self.shown.json {
            self.inner.progress(progress);
            return;
        }
        if self.last.is_some_and(|last| last.elapsed() < HEARTBEAT) {
            return;
        }
        self.last = Some(Instant::now());
        let machines = progress.machines.unwrap_or_default();
        let seconds = progress.elapsed.as_secs_f64();
        self.shown.object(&json!({
            "event": "progress",
            "executions": progress.executions,
            "executions_per_s": (progress.executions as f64 / seconds.max(1e-9)) as u64,
            "distinct": progress.distinct,
            "failing": progress.failing,
            "failures": progress.failures,
            "elapsed_s": seconds,
            "machines": machines.present,
            "workers": machines.workers,
            "lost": machines.lost,
        }));
    }

    fn bug(&mut self, bug: &Bug, trace: &Trace) {
        self.inner.bug(bug, trace);
    }

    fn note(&mut self, line: &str) {
        self.inner.note(line);
    }
}

/// Refuses a strategy whose search machines cannot share.
fn share(options: &SearchOptions) -> Result<(), Problem> {
    let conditions = [&options.when, &options.always, &options.never];
    if conditions.iter().any(|of| !of.is_empty()) {
        return Err(Problem::Usage(
            "machines cannot share a search with predicates (--when, --always, --never), which are \
             compiled for the program of one machine: search without --cluster"
                .into(),
        ));
    }
    let strategy = options.strategy.name();
    match needs_one_machine(options) {
        None => Ok(()),
        Some(why) => Err(Problem::Usage(format!(
            "machines cannot share a search with --strategy {strategy}: {why}; choose {}, or search \
             without --cluster",
            shareable().join(", ")
        ))),
    }
}

/// Why machines cannot share a search.
fn needs_one_machine(options: &SearchOptions) -> Option<&'static str> {
    if options.strategy == StrategyChoice::WHEN {
        return Some("its predicates are compiled for the program of one machine");
    }
    Frontier::new(options.strategy.plan(options.seed, options.bound)).needs_one_machine()
}

/// The strategies whose searches machines can share.
pub(crate) fn shareable() -> Vec<&'static str> {
    let shares = |name: &&str| {
        let options = StrategyChoice::parse(name)
            .map(|strategy| SearchOptions { strategy, ..SearchOptions::default() });
        options.is_ok_and(|options| needs_one_machine(&options).is_none())
    };
    replay_core::registry::listed().map(|descriptor| descriptor.name).filter(shares).collect()
}

/// What determines whether a search continues another of the same name.
fn identity(target: &Target, options: &SearchOptions) -> String {
    let text = format!(
        "{:?}",
        (
            (this_build(), &target.build_id, &target.name, &target.args),
            (options.strategy, options.seed, options.bound, options.spurious),
            (options.max_steps, options.most_steps, options.beginning),
            (options.reuse, options.short_counts),
            (options.slack, &options.fail_on, options.points, &options.atomic, &options.focus),
        )
    );
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

fn search(
    url: &str,
    args: &ClusterArgs,
    (target, settings, workers): (&Target, &Settings, u32),
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
    shown: &Shown<'_>,
) -> Result<Report, Problem> {
    let mut options = settings.options.clone();
    share(&options)?;
    let file = target.program.file_name().unwrap_or_default().to_string_lossy();
    let name = args.cluster_name.clone().unwrap_or_else(|| default_name(&file));
    check_name(&name).map_err(Problem::Usage)?;
    let server = Server::connect(url, &args.connection)?;
    let _context = server.context();
    let stored = Stored::claim(&server, &name, &options.out)?;
    let found = search_claimed(
        (&server, &name, args),
        (target, &mut options, workers),
        interrupted,
        observer,
        shown,
        &stored,
    );
    stored.release();
    found
}

/// Runs a search whose name this process has claimed.
fn search_claimed(
    (server, name, args): (&Server, &str, &ClusterArgs),
    (target, options, workers): (&Target, &mut SearchOptions, u32),
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
    shown: &Shown<'_>,
    stored: &Stored<'_>,
) -> Result<Report, Problem> {
    let identity = identity(target, options);
    let before = announced(server, name)?;
    let before = before.filter(|before| before.state.can_be_continued());
    match &before {
        Some(before) if before.identity != identity => {
            return Err(Problem::Usage(taken(&server.address, before)));
        }
        Some(before) => {
            if !options.resume && stored.fetch()? {
                (options.resume, options.collector) = (true, Collector::Returned);
                shown.note(&format!("the search {name} continues"));
            } else if !options.resume && stored.is_here_since(before.since) {
                // The server failed before the state was there.
                options.resume = true;
                shown.note(&continues_here(name));
            }
            if before.state == State::Waiting {
                // A substitute has used up the time.
                options.max_time = options.max_time.map(|_| Duration::ZERO);
            }
        }
        None => stored::remove(server, name, true)?,
    }
    let open = |order: &SearchOrder<'_>| -> Result<(String, String), Error> {
        let bundle = Bundle::new(order, &args.cluster_input, &mut Quiet)?;
        let bytes = pack(&bundle);
        let digest = blake3::hash(&bytes).to_hex().to_string();
        let sign = |file| trust::sign(&digest, file).map_err(Error::Usage);
        let signed = args.sign.as_deref().map(sign).transpose()?;
        server.put_object(&digest, &bytes)?;
        server.create_streams(name)?;
        let instance = match &before {
            Some(before) if before.bundle == digest => before.instance.clone(),
            Some(_) => {
                // Workers of the new bundle do not run pieces of the old one.
                server.purge_pieces(name)?;
                random_word()?
            }
            None => random_word()?,
        };
        let words = std::iter::once(&target.name).chain(&target.args);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        announce(
            server,
            &Announcement {
                version: VERSION,
                build: this_build().to_owned(),
                name: name.to_owned(),
                state: State::Running,
                identity: identity.clone(),
                instance: instance.clone(),
                bundle: digest.clone(),
                signed,
                command: words.join(" "),
                since: SystemTime::now()
                    .duration_since(SystemTime::UNIX_EPOCH)
                    .map_or(0, |since| since.as_secs()),
            },
        )?;
        Ok((digest, instance))
    };
    let bundle = Mutex::new(None);
    let report =
        replay_core::explore_with(target, options, interrupted, observer, &|order: SearchOrder<
            '_,
        >| {
            let (digest, instance) = open(&order)?;
            *bundle.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(digest);
            let there = RemotePool::new(server, name, instance, shown, stored);
            let SearchOrder { target, job, spin_after, interrupt, .. } = order;
            let here = WorkerPool::new(target, job, spin_after, interrupt)?;
            Ok(Box::new(DividedPool::new(there, here, workers, |message| message)))
        });
    stored.store();
    let interrupted = interrupted.load(Relaxed);
    let report = report?;
    if interrupted {
        shown.note(&continues_there(name, &server.address));
        return Ok(report);
    }
    finish(server, name, State::Over)?;
    stored::remove(server, name, false)?;
    if let Some(bundle) = bundle.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        server.remove_object(&bundle);
    }
    Ok(report)
}

/// How long to listen for machines: each is heard once in this time.
const LISTEN: Duration = Duration::from_millis(1600);

/// The machines at a server.
fn machines(server: &Server) -> Result<Table, Problem> {
    let mut beats = server.listen(HEARTBEATS)?;
    let mut table = Table::default();
    server.hear(&mut beats, LISTEN, |beat| drop(table.heard(beat, Instant::now())));
    Ok(table)
}

fn status(args: &ClusterStatusArgs, console: &Console) -> Result<Status, Problem> {
    let server = Server::connect(&args.url, &args.connection)?;
    let _context = server.context();
    let searches = list(&server)?;
    let table = machines(&server)?;
    if args.json {
        let searches: Vec<_> = searches
            .iter()
            .map(|(name, one)| match one {
                Ok(one) => json!({
                    "name": name, "state": one.state, "command": one.command, "since": one.since,
                    "collector": Stored::owner(&server, name),
                }),
                Err(why) => json!({ "name": name, "why": why }),
            })
            .collect();
        let machines: Vec<_> = table.list().collect();
        let object = json!({ "searches": searches, "machines": machines });
        console.print(&(json_text::text(&object) + "\n"))?;
        return Ok(Status::Fine);
    }
    let mut text = String::new();
    let mut line = |line: String| text += &(clean(&line) + "\n");
    for (name, one) in &searches {
        line(match one {
            Ok(one) => running(one, Stored::owner(&server, name)),
            Err(why) => format!("search {name}: {why}"),
        });
    }
    table.list().for_each(|beat| line(machine(beat)));
    if text.is_empty() {
        text = nothing_at(&server.address);
    }
    console.print(&text)?;
    Ok(Status::Fine)
}

/// A line for a search. `by` is the process that collects its results.
fn running(search: &Announcement, by: Option<String>) -> String {
    let by = by.map(|by| format!(" (collector: {by})")).unwrap_or_default();
    let state = match search.state {
        State::Running => "running",
        State::Waiting => "has ended, and the command that started it shows its result",
        State::Over => "over",
        State::Cancelled => "cancelled",
    };
    format!("search {}: {state}{by}, {}", search.name, search.command)
}

/// A line for a machine.
fn machine(beat: &Heartbeat) -> String {
    let does = match (&beat.search, &beat.refuses) {
        (Some(name), Some(why)) => format!("refuses {name}: {why}"),
        (Some(name), None) => format!("runs {name}, {:.0} executions/s", beat.rate),
        _ => "has nothing to run".to_owned(),
    };
    format!("machine {}, {} workers: {does}", beat.machine, beat.workers)
}

/// What `heddle cluster key` prints.
fn key_made(secret: &Path, public: &Path, key: &str) -> String {
    format!(
        "{}: the secret key, for `heddle explore --sign`\n{}: the public key, for `heddle worker \
         --trust`\n{key}\n",
        secret.display(),
        public.display()
    )
}

fn cancel(args: &ClusterSearchArgs, console: &Console) -> Result<Status, Problem> {
    let server = Server::connect(&args.url, &args.connection)?;
    let _context = server.context();
    let name = args.name.as_str();
    let searches = list(&server)?;
    let Some(found) = searches.get(name) else { return Err(unknown(&server, name)) };
    if let Ok(found) = found {
        announce(&server, &Announcement { state: State::Cancelled, ..found.clone() })?;
        server.remove_object(&found.bundle);
    } else {
        let store = server.searches()?;
        let _ = server.wait(async { store.purge(name).await });
    }
    stored::remove(&server, name, true)?;
    console.print(&format!("the search {name} was cancelled\n"))?;
    Ok(Status::Fine)
}

fn traces(args: &ClusterTracesArgs, console: &Console) -> Result<Status, Problem> {
    let search = &args.search;
    let server = Server::connect(&search.url, &search.connection)?;
    let _context = server.context();
    if !list(&server)?.contains_key(&search.name) {
        return Err(unknown(&server, &search.name));
    }
    let out = args.out.as_deref().unwrap_or(Path::new("heddle-out"));
    let copied = stored::copy_traces(&server, &search.name, out)?;
    let lines: String = copied.iter().map(|path| format!("{}\n", path.display())).collect();
    match lines.is_empty() {
        true => console.note(&format!("heddle: the search {} has found no failure", search.name)),
        false => console.print(&lines)?,
    }
    Ok(Status::Fine)
}

/// The note if searches have to wait for a machine.
fn no_machine(address: &str) -> String {
    format!("no machine is at {address}: the searches begin when one joins (heddle worker)")
}

/// The note for a search whose state the server does not have.
fn continues_here(name: &str) -> String {
    format!("the search {name} continues from its state on this machine")
}

/// The note for an interrupted command whose search continues.
fn continues_there(name: &str, address: &str) -> String {
    format!(
        "the machines continue the search {name}: the same command shows its result, `heddle cluster \
         cancel {address} {name}` ends it"
    )
}

/// The status of a server that nothing uses.
fn nothing_at(address: &str) -> String {
    format!("no search and no machine at {address}\n")
}

/// The message if another search has the name.
fn taken(address: &str, other: &Announcement) -> String {
    format!(
        "the server at {address} has a search {} of another program or with other options ({}): choose \
         another --cluster-name, or end it (heddle cluster cancel)",
        other.name, other.command
    )
}

fn unknown(server: &Server, name: &str) -> Problem {
    Problem::Usage(format!(
        "there is no search {name} at {}: `heddle cluster status` lists them",
        server.address
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_is_shared_or_refused_with_its_reason() {
        let mut refused = Vec::new();
        for descriptor in replay_core::registry::listed() {
            let strategy = replay_core::StrategyChoice::parse(descriptor.name).expect("listed");
            let options = SearchOptions { strategy, ..SearchOptions::default() };
            if let Err(problem) = share(&options) {
                let text = problem.to_string();
                assert!(
                    text.contains(descriptor.name) && text.contains("without --cluster"),
                    "{text}"
                );
                refused.push(descriptor.name);
            }
        }
        assert_eq!(refused, ["icb", "directed", "hapset", "when"]);
        let reason = |name: &str| {
            let strategy = replay_core::StrategyChoice::parse(name).expect("listed");
            needs_one_machine(&SearchOptions { strategy, ..SearchOptions::default() })
        };
        let table = "its workers share a table of visited states in memory";
        assert_eq!(reason("icb"), Some(table));
        let order = "each of its executions depends on the ones before it";
        assert_eq!([reason("directed"), reason("hapset")], [Some(order); 2]);
        let shared = |name: &&str| !refused.contains(name);
        let listed = replay_core::registry::listed().map(|descriptor| descriptor.name);
        assert_eq!(shareable(), listed.filter(shared).collect::<Vec<_>>());
    }

    fn announcement(state: State) -> Announcement {
        Announcement {
            version: VERSION,
            build: "0.1.0".into(),
            name: "bank".into(),
            state,
            identity: "1".into(),
            instance: "3".into(),
            bundle: "2".into(),
            signed: None,
            command: "./bank 3".into(),
            since: 0,
        }
    }

    #[test]
    fn lines_of_the_status() {
        let search = |state, by: Option<&str>| running(&announcement(state), by.map(str::to_owned));
        assert_eq!(
            search(State::Running, Some("process 9 on ci")),
            "search bank: running (collector: process 9 on ci), ./bank 3"
        );
        assert_eq!(
            search(State::Waiting, None),
            "search bank: has ended, and the command that started it shows its result, ./bank 3"
        );
        assert_eq!(search(State::Over, None), "search bank: over, ./bank 3");
        assert_eq!(search(State::Cancelled, None), "search bank: cancelled, ./bank 3");
        let beat = |search: Option<&str>, refuses: Option<&str>| {
            machine(&Heartbeat {
                machine: "ci-1".into(),
                host: "host".into(),
                workers: 8,
                search: search.map(str::to_owned),
                executions: 0,
                rate: 1234.5,
                refuses: refuses.map(str::to_owned),
                leaves: false,
            })
        };
        assert_eq!(beat(None, None), "machine ci-1, 8 workers: has nothing to run");
        let runs = "machine ci-1, 8 workers: runs bank, 1234 executions/s";
        assert_eq!(beat(Some("bank"), None), runs);
        let refuses = "machine ci-1, 8 workers: refuses bank: another build";
        assert_eq!(beat(Some("bank"), Some("another build")), refuses);
    }

    #[test]
    fn a_name_of_another_search_and_a_new_key() {
        assert_eq!(
            taken("one:4222", &announcement(State::Running)),
            "the server at one:4222 has a search bank of another program or with other options (./bank \
             3): choose another --cluster-name, or end it (heddle cluster cancel)"
        );
        assert_eq!(
            key_made(Path::new("key"), Path::new("key.pub"), "UABC"),
            "key: the secret key, for `heddle explore --sign`\nkey.pub: the public key, for `heddle \
             worker --trust`\nUABC\n"
        );
    }

    #[test]
    fn predicates_belong_to_one_machine() {
        let options = SearchOptions { strategy: StrategyChoice::WHEN, ..SearchOptions::default() };
        assert_eq!(
            needs_one_machine(&options),
            Some("its predicates are compiled for the program of one machine")
        );
        let options = SearchOptions { when: vec!["x > 0".into()], ..SearchOptions::default() };
        assert_eq!(
            share(&options).expect_err("a predicate").to_string(),
            "machines cannot share a search with predicates (--when, --always, --never), which are \
             compiled for the program of one machine: search without --cluster"
        );
    }

    #[test]
    fn notes_on_searches_name_the_command_to_give() {
        assert_eq!(
            no_machine("one:4222"),
            "no machine is at one:4222: the searches begin when one joins (heddle worker)"
        );
        assert_eq!(
            continues_here("bank"),
            "the search bank continues from its state on this machine"
        );
        assert_eq!(
            continues_there("bank", "one:4222"),
            "the machines continue the search bank: the same command shows its result, `heddle cluster \
             cancel one:4222 bank` ends it"
        );
        assert_eq!(nothing_at("one:4222"), "no search and no machine at one:4222\n");
    }
}

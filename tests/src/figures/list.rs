//! The tables of `docs/figures.md`, and what prints each of them.

/// What prints a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An example of the workspace.
    Example(&'static str),
    /// `tests/speed`, which is outside the workspace because it needs the tools that it compares.
    Speed,
    /// Nothing: why the figures cannot be measured by a command.
    Nothing(&'static str),
}

/// A table, or several that one command prints.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// How the command line names it.
    pub name: &'static str,
    /// The heading of `docs/figures.md` below which it is.
    pub heading: &'static str,
    /// What prints it.
    pub source: Source,
    /// The arguments with which the figures of the page are measured.
    pub args: &'static [&'static str],
    /// The arguments for `--quick`.
    pub quick: &'static [&'static str],
    /// Commands without which nothing can be measured.
    pub needs: &'static [&'static str],
    /// How long it may take, in minutes, before it is ended.
    pub minutes: u64,
}

const NONE: Table = Table {
    name: "",
    heading: "",
    source: Source::Nothing(""),
    args: &[],
    quick: &[],
    needs: &["cc"],
    minutes: 30,
};

/// All of them, in the order of the page.
pub const TABLES: &[Table] = &[
    Table {
        name: "first-abstract",
        heading: "Executions to the first failure",
        source: Source::Example("abstract_programs"),
        args: &["first"],
        quick: &["overhead"],
        needs: &[],
        minutes: 60,
    },
    Table {
        name: "first",
        heading: "Executions to the first failure",
        source: Source::Example("first_failure"),
        quick: &["1", "auto"],
        minutes: 90,
        ..NONE
    },
    Table {
        name: "safestack",
        heading: "Executions to the first failure",
        source: Source::Example("safestack"),
        quick: &["1", "20000"],
        minutes: 90,
        ..NONE
    },
    Table {
        name: "complete-abstract",
        heading: "Complete searches",
        source: Source::Example("abstract_programs"),
        args: &["complete"],
        quick: &["complete", "1000"],
        needs: &[],
        ..NONE
    },
    Table {
        name: "complete",
        heading: "Complete searches",
        source: Source::Example("complete_searches"),
        quick: &["1"],
        ..NONE
    },
    Table {
        name: "checkpoints",
        heading: "Checkpoints",
        source: Source::Example("checkpoint_figures"),
        quick: &["1"],
        ..NONE
    },
    Table {
        name: "rust-locks",
        heading: "Rust programs with locks",
        source: Source::Nothing(
            "three of its columns are of versions that recognised less; tests/tests/rust_locks.rs \
             holds the last one",
        ),
        ..NONE
    },
    Table {
        name: "speed",
        heading: "Speed",
        source: Source::Speed,
        quick: &["--rounds", "1", "--divide", "100", "--loom-milliseconds", "200"],
        needs: &["cc", "c++", "rustc"],
        ..NONE
    },
    Table {
        name: "failing",
        heading: "Failing executions",
        source: Source::Example("failing_cost"),
        quick: &["1", "2000"],
        ..NONE
    },
    Table {
        name: "accesses",
        heading: "Monitored accesses",
        source: Source::Example("access_cost"),
        ..NONE
    },
    Table {
        name: "races",
        heading: "Monitored accesses",
        source: Source::Example("detection_cost"),
        ..NONE
    },
    Table {
        name: "debugger",
        heading: "Backwards in the debugger",
        source: Source::Example("debugger_figures"),
        args: &["1,000,000"],
        quick: &["attach"],
        needs: &["cc", "gdb"],
        minutes: 60,
    },
    Table {
        name: "predicates",
        heading: "Predicates",
        source: Source::Example("predicate_figures"),
        args: &["3"],
        quick: &["0"],
        minutes: 60,
        ..NONE
    },
    Table {
        name: "suites",
        heading: "Test suites of crates",
        source: Source::Nothing(
            "it needs the sources of the crates, each built with its own cargo",
        ),
        ..NONE
    },
    Table {
        name: "programs",
        heading: "Programs of Debian packages",
        source: Source::Example("programs"),
        args: &["10000", "45s"],
        quick: &["20", "5s", "zstd"],
        minutes: 60,
        ..NONE
    },
    Table {
        name: "native",
        heading: "One run of programs of Debian packages",
        source: Source::Example("native_figures"),
        args: &[],
        quick: &["zstd"],
        minutes: 15,
        ..NONE
    },
    Table {
        name: "servers",
        heading: "Servers and their clients",
        source: Source::Example("server_figures"),
        args: &["20s"],
        quick: &["2s"],
        minutes: 10,
        needs: &["redis-server", "memcached", "nginx", "curl"],
    },
    Table {
        name: "glibc",
        heading: "The C library's own tests",
        source: Source::Nothing(
            "it needs a built tree of the C library; docs/glibc-tests.md says how",
        ),
        ..NONE
    },
    Table {
        name: "workers",
        heading: "Several workers",
        source: Source::Example("workers"),
        quick: &["20000"],
        ..NONE
    },
    Table {
        name: "machines",
        heading: "Several machines",
        source: Source::Example("scaling"),
        quick: &["150", "50", "12"],
        needs: &[],
        ..NONE
    },
    Table {
        name: "explorer",
        heading: "The explorer",
        source: Source::Example("explorer_latency"),
        quick: &["25"],
        ..NONE
    },
];

/// The table of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

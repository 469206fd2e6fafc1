#!/bin/sh
# Formatting, lints, documentation and tests; the same command for developers and for CI.
#
#   scripts/test.sh        everything
#   scripts/test.sh fast   formatting, lints, unit tests, structure and words of the sources, and a
#                          few end-to-end tests: under 3 minutes on two cores after a first build
set -eu
tier="${1:-all}"
case "$tier" in
    all | fast) ;;
    *)
        echo "usage: scripts/test.sh [fast]" >&2
        exit 2
        ;;
esac
cd "$(dirname "$0")/.."

# What the tests compile and run besides cargo, as: command or file, Debian package.
missing=""
need() {
    if ! command -v "$1" >/dev/null 2>&1 && ! [ -e "$1" ]; then
        missing="$missing $2"
    fi
}
need cc gcc
need g++ g++
need cmake cmake
need gdb gdb
need dot graphviz
# With its Python, on which it depends.
need lldb-19 lldb-19
need /usr/include/pthread.h libc6-dev
need /usr/lib/debug/.build-id libc6-dbg
required="$missing"

# The frameworks of tests/suites. Where one cannot be installed, its suite is skipped.
missing=""
need /usr/include/gtest/gtest.h libgtest-dev
need /usr/include/catch2/catch.hpp catch2
need /usr/include/doctest/doctest.h doctest-dev
need /usr/include/boost/test/included/unit_test.hpp libboost-test-dev
need /usr/include/criterion/criterion.h libcriterion-dev
need /usr/include/glib-2.0/glib.h libglib2.0-dev
need pkg-config pkg-config
# Searches on several machines.
need nats-server nats-server
need openssl openssl
need ip iproute2
optional="$missing"

can_install=no
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    can_install=yes
fi
if [ -n "$required$optional" ] && [ "$can_install" = yes ]; then
    apt-get update
    export DEBIAN_FRONTEND=noninteractive
    if [ -n "$required" ]; then
        # shellcheck disable=SC2086 # a list of words
        apt-get install -y --no-install-recommends $required
    fi
    for package in $optional; do
        apt-get install -y --no-install-recommends "$package" ||
            echo "not installed: $package; the tests that need it are skipped"
    done
elif [ -n "$required" ]; then
    echo "the tests need these packages (names as in Debian):$required" >&2
    exit 1
fi

for tool in cargo rustfmt cargo-clippy; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "the tests need $tool: install Rust with its rustfmt and clippy components" >&2
        exit 1
    fi
done

# One profile for all commands, so that build scripts and dependencies are built once.
cargo fmt --all --check
cargo clippy --workspace --all-targets --release --locked -- -D warnings

if [ "$tier" = fast ]; then
    # The features of the dependencies are those of the command below, so that cargo compiles nothing
    # twice. `probes` replaces malloc, so `--lib` must not run it as a test.
    cargo test --workspace --exclude probes --release --locked --lib \
        --test dependencies --test structure --test words --test fuzz --test trace_commands \
        --test scope --test hints --test output
    exit
fi

RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --release --locked
# What `cargo test` runs, but two test programs at a time: many tests wait for something, and the last
# one of a program often runs alone.
cargo test --workspace --release --locked --no-run
"${CARGO_TARGET_DIR:-target}/release/examples/run_tests"

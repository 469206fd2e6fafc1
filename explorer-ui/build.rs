//! Builds what the binary carries inside: the runtime that goes into targets, and the demo.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let workspace = here.parent().expect("the package lies in the workspace").to_owned();
    let runtime = build_runtime(&workspace, &out);
    println!("cargo::rustc-env=HEDDLE_RUNTIME={}", runtime.display());
    let demo = build_demo(&here.join("demo"), &out);
    println!("cargo::rustc-env=HEDDLE_DEMO={}", demo.display());
    println!("cargo::rerun-if-changed=build.rs");
}

/// Builds the `probes` package as a shared library, with a cargo of its own.
///
/// It needs a profile of its own (a panic in there must abort), which cargo cannot set for one
/// package of a build. The target directory must be another one: the outer cargo holds the lock
/// of its own until we are done.
fn build_runtime(workspace: &Path, out: &Path) -> PathBuf {
    for part in ["probes", "search", "traces"] {
        for what in ["src", "Cargo.toml", "build.rs"] {
            let path = workspace.join(part).join(what);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(file).display());
    }
    let target_dir = out.join("probes-target");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo
        .args(["build", "--package", "probes", "--profile", "probes", "--locked"])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir);
    // Only where it must be: with a target named, build scripts are compiled apart.
    let (host, target) = (env::var("HOST"), env::var("TARGET"));
    let mut products = target_dir.clone();
    if host != target {
        let target = target.expect("cargo sets TARGET");
        cargo.args(["--target", &target]);
        products.push(target);
    }
    clear_environment(&mut cargo);
    match cargo.status() {
        Ok(status) if status.success() => {}
        Ok(_) => fail("the runtime (package probes) does not build; its errors stand above"),
        Err(error) => fail(&format!("cargo cannot be started to build the runtime: {error}")),
    }
    let built = products.join("probes").join("libheddle_probes.so");
    let copy = out.join("libheddle_probes.so");
    if let Err(error) = fs::copy(&built, &copy) {
        fail(&format!("the runtime was built but is not at {}: {error}", built.display()));
    }
    copy
}

/// Takes away what the outer build means for itself: flags (coverage, sanitizers, `-C
/// target-cpu`), wrappers (clippy), where to build and for what.
fn clear_environment(cargo: &mut Command) {
    let ours = |name: &str| {
        name.starts_with("CARGO_PROFILE_")
            || name.starts_with("CARGO_CFG_")
            || name.starts_with("CARGO_FEATURE_")
            || name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || name.starts_with("CARGO_BUILD_")
            || name.starts_with("CLIPPY_")
            || matches!(
                name,
                "CARGO_TARGET_DIR"
                    | "RUSTC"
                    | "RUSTDOC"
                    | "RUSTC_LINKER"
                    | "RUSTC_WRAPPER"
                    | "RUSTC_WORKSPACE_WRAPPER"
                    | "RUSTDOCFLAGS"
                    | "RUSTFLAGS"
                    | "OUT_DIR"
                    | "TARGET"
                    | "HOST"
                    | "PROFILE"
                    | "OPT_LEVEL"
                    | "DEBUG"
                    | "NUM_JOBS"
            )
    };
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(ours) {
            cargo.env_remove(name);
        }
    }
    // Set to nothing rather than removed: then flags in a configuration file do not count either.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
}

/// Compiles the program that `heddle demo` is about.
fn build_demo(source: &Path, out: &Path) -> PathBuf {
    println!("cargo::rerun-if-changed={}", source.join("demo.c").display());
    println!("cargo::rerun-if-env-changed=CC");
    let built = out.join("demo");
    let chosen = env::var("CC").ok().filter(|compiler| !compiler.is_empty());
    let compilers = match &chosen {
        Some(compiler) => vec![compiler.as_str()],
        None => vec!["cc", "gcc", "clang"],
    };
    for compiler in &compilers {
        let mut words = compiler.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("cc"));
        // The same bytes wherever the source lies: a trace of the demo names its build.
        command
            .args(words)
            .args(["-std=gnu11", "-g", "-O1", "-Wall", "-pthread", "-Wl,--build-id=sha1"])
            .arg(format!("-ffile-prefix-map={}=.", source.display()))
            .arg("-o")
            .arg(&built)
            .arg("demo.c")
            .current_dir(source);
        match command.status() {
            Ok(status) if status.success() => return built,
            Ok(_) => fail(&format!("{compiler} cannot compile explorer-ui/demo/demo.c")),
            Err(_) => {}
        }
    }
    fail(&format!(
        "no C compiler ({}): install one (Debian, Ubuntu: apt-get install gcc libc6-dev) or name \
         it in CC",
        compilers.join(", ")
    ))
}

fn fail(why: &str) -> ! {
    println!("cargo::error={why}");
    exit(1)
}

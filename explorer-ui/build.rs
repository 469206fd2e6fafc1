//! Builds the files that the binary embeds: the runtime that is preloaded into targets, and the demo.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let workspace = here.parent().expect("the package lies in the workspace").to_owned();
    println!("cargo::rerun-if-env-changed=HEDDLE_EMBED_RUNTIME");
    let runtime =
        if embeds_runtime() { build_runtime(&workspace, &out) } else { empty_runtime(&out) };
    println!("cargo::rustc-env=HEDDLE_RUNTIME={}", runtime.path.display());
    println!("cargo::rustc-env=HEDDLE_RUNTIME_HASH={}", runtime.hash);
    let demo = build_demo(&here.join("demo"), &out);
    println!("cargo::rustc-env=HEDDLE_DEMO={}", demo.display());
    if packs_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Whether the loader of this system knows packed relocations, as that of the GNU C Library does from 2.36 on. They
/// make the binary smaller by a twentieth. Linkers that do not know the option ignore it.
fn packs_relocations() -> bool {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_native = variable("HOST") == variable("TARGET");
    let is_static = variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|one| one == "crt-static");
    if !is_native || is_static || variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        return false;
    }
    let Ok(found) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let numbers: Vec<u32> =
        text.split([' ', '.', '\n']).filter_map(|part| part.parse().ok()).collect();
    numbers.as_slice() >= [2, 36].as_slice()
}

/// A file that the binary embeds.
struct Embedded {
    path: PathBuf,
    /// The hash of its content before it was compressed.
    hash: String,
}

/// Whether this build carries the runtime. Builds with the `dev` profile do not, so that
/// `cargo check` and rust-analyzer never compile the runtime; `HEDDLE_EMBED_RUNTIME=1` overrides.
fn embeds_runtime() -> bool {
    match env::var("HEDDLE_EMBED_RUNTIME") {
        Ok(value) => value != "0",
        Err(_) => env::var("PROFILE").is_ok_and(|profile| profile == "release"),
    }
}

/// An empty file instead of the runtime: `replay_core::runtime::install` reports it as an error.
fn empty_runtime(out: &Path) -> Embedded {
    let path = out.join("no-runtime");
    if let Err(error) = fs::write(&path, []) {
        fail(&format!("cannot write {}: {error}", path.display()));
    }
    Embedded { path, hash: String::new() }
}

/// Builds the `probes` package as a shared library, in a separate cargo process.
///
/// The runtime needs its own profile, which cargo cannot set for one package of a build. The target
/// directory differs from the outer one, whose lock the outer cargo holds; it lies inside it, so
/// that `build`, `clippy`, `doc` and `test` share one compiled runtime.
fn build_runtime(workspace: &Path, out: &Path) -> Embedded {
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
    let target_dir = shared_target_directory(out).unwrap_or_else(|| out.to_owned()).join("runtime");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo
        .args(["build", "--package", "probes", "--profile", "probes", "--locked"])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir);
    // Only for cross-compilation: with `--target`, cargo compiles build scripts separately.
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
        Ok(_) => fail("cannot build the runtime (package probes); see the errors above"),
        Err(error) => fail(&format!("cannot start cargo to build the runtime: {error}")),
    }
    let built = products.join("probes").join("libheddle_probes.so");
    let copy = out.join("libheddle_probes.so");
    if let Err(error) = fs::copy(&built, &copy) {
        fail(&format!("the runtime was built but is not at {}: {error}", built.display()));
    }
    compressed(&copy)
}

/// Compresses a file of the binary's content.
fn compressed(file: &Path) -> Embedded {
    /// The slowest, which compresses most.
    const LEVEL: u8 = 10;
    let path = file.with_extension("so.zlib");
    let result = fs::read(file).and_then(|bytes| {
        fs::write(&path, miniz_oxide::deflate::compress_to_vec_zlib(&bytes, LEVEL))?;
        Ok(blake3::hash(&bytes).to_string())
    });
    match result {
        Ok(hash) => Embedded { path, hash },
        Err(error) => fail(&format!("cannot compress {}: {error}", file.display())),
    }
}

/// The outer build's target directory, found from `OUT_DIR`
/// (`<target>/[<triple>/]<profile>/build/<package>/out`).
fn shared_target_directory(out: &Path) -> Option<PathBuf> {
    let mut directory = out.ancestors().nth(4)?;
    if env::var("TARGET").is_ok_and(|triple| directory.ends_with(triple)) {
        directory = directory.parent()?;
    }
    Some(directory.to_owned())
}

/// Removes the settings of the outer build from the environment: flags (coverage, sanitizers, `-C
/// target-cpu`), wrappers (clippy), target directory and target.
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
    // Empty rather than removed, so that flags in a configuration file do not apply either.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
}

/// Compiles the program of `heddle demo`.
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
        // The prefix map makes the build reproducible in any directory: a trace names its build.
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
        "no C compiler found ({}): install one (Debian, Ubuntu: apt-get install gcc libc6-dev) or \
         name it in CC",
        compilers.join(", ")
    ))
}

fn fail(why: &str) -> ! {
    println!("cargo::error={why}");
    exit(1)
}

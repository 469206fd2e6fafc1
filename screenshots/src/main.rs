//! Makes the pictures in this directory, as SVG and as PNG, from the real program's output: `cargo
//! run -p screenshots`; with `-- --check` it only reports whether they are up to date. `-- --causes`
//! makes the pictures in `causes` instead: the first screen on benchmark programs that fail. `-- --suites`
//! makes those in `suites`: the progress and the table of a search of a test suite.
//!
//! A picture is the same on every machine: times, directories and frames in the C library are
//! removed.

mod causes;
mod explorer;
mod pixels;
mod suites;
mod terminal;

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<()> {
    let check = std::env::args().skip(1).any(|arg| arg == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let heddle = build(&root)?;
    if std::env::args().skip(1).any(|arg| arg == "--causes") {
        return causes::draw(&heddle, &root);
    }
    if std::env::args().skip(1).any(|arg| arg == "--suites") {
        return suites::draw(&heddle, &root);
    }
    let home = tempfile::tempdir().context("a temporary directory")?;
    let demo = home.path().join("demo");
    std::fs::copy(root.join("explorer-ui/demo/demo.c"), home.path().join("demo.c"))?;
    let compiled = Command::new("cc")
        .args(["-g", "-O1", "-pthread", "-o"])
        .arg(&demo)
        // Source names without directories, because pictures show them.
        .arg(format!("-ffile-prefix-map={}=.", home.path().display()))
        .arg("demo.c")
        .current_dir(home.path())
        .status()
        .context("cc does not run")?;
    ensure!(compiled.success(), "the demo does not compile");
    run(&heddle, home.path(), &["explore", "--seed", "3", "--", "./demo"])?;
    let trace = std::fs::read_dir(home.path().join("heddle-out"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|end| end == "heddle"))
        .context("the search found nothing to show")?;
    let trace = trace.to_string_lossy().into_owned();
    let text = run(&heddle, home.path(), &["show", "--color", "always", &trace])?;
    let picture = anstyle_svg::Term::new().render_svg(&schedule(&text, home.path()));
    let mut pictures = vec![("show", picture)];
    pictures.extend(explorer::pictures(&heddle, home.path(), &trace)?);
    let mut stale = Vec::new();
    for (name, picture) in &pictures {
        let path = root.join(format!("screenshots/{name}.svg"));
        if !check {
            put(&path, picture)?;
        } else if !is_current(&path, picture) {
            stale.push(format!("screenshots/{name}.svg"));
        }
    }
    if !stale.is_empty() {
        bail!("stale: {}; renew with `cargo run --release -p screenshots`", stale.join(", "));
    }
    Ok(())
}

/// Builds heddle in the profile of this program, and returns its path.
fn build(root: &Path) -> Result<PathBuf> {
    let me = std::env::current_exe()?;
    let directory = me.parent().context("an executable lies in a directory")?;
    let profile = if directory.ends_with("debug") { "dev" } else { "release" };
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        // The selection of packages that the tests use: another one selects other features of the
        // dependencies, and cargo compiles everything that uses them again.
        .args(["build", "--quiet", "--locked", "--workspace", "--bin", "heddle"])
        .args(["--profile", profile])
        .current_dir(root)
        .status()
        .context("cargo does not run")?;
    ensure!(built.success(), "heddle does not build");
    Ok(directory.join("heddle"))
}

/// The output of heddle. Its exit status depends on the result of the search and is ignored.
fn run(heddle: &Path, home: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new(heddle)
        .args(args)
        .current_dir(home)
        .env("XDG_STATE_HOME", home)
        .env("XDG_CACHE_HOME", home)
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("NO_COLOR")
        .env("COLUMNS", "100")
        .output()
        .with_context(|| format!("{} does not run", heddle.display()))?;
    Ok(String::from_utf8(output.stdout)?)
}

/// The part up to the legend: below are stacks with frames in this machine's C library.
fn schedule(text: &str, home: &Path) -> String {
    let end = text.lines().position(|line| line.contains("│ enabled"));
    let lines: Vec<&str> = text.lines().take(end.map_or(usize::MAX, |end| end + 1)).collect();
    lines.join("\n").replace(&*home.to_string_lossy(), ".")
}

/// Writes a picture, as SVG and as PNG.
fn put(path: &Path, picture: &str) -> Result<()> {
    let pixels = path.with_extension("png");
    let named = |path: &Path| path.display().to_string();
    std::fs::write(path, picture).with_context(|| named(path))?;
    std::fs::write(&pixels, pixels::png(picture)?).with_context(|| named(&pixels))
}

/// Whether the stored picture and its PNG are up to date.
fn is_current(path: &Path, picture: &str) -> bool {
    let same = std::fs::read_to_string(path).is_ok_and(|before| before == picture);
    let pixels = std::fs::read(path.with_extension("png"));
    same && pixels.is_ok_and(|before| pixels::png(picture).is_ok_and(|now| now == before))
}

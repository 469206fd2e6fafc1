//! What cargo built, by its messages in JSON.

use super::Program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The program, with the package's directory and variables.
    pub program: Program,
    /// Whether it contains tests.
    pub is_test: bool,
    /// Whether it is made from a library, which may have tests in its documentation.
    pub is_library: bool,
}

/// The programs in the messages of `cargo --message-format=json`. `libraries` is the present value
/// of `LD_LIBRARY_PATH`, with the directory of Rust's own libraries.
#[must_use]
pub fn built(messages: &str, libraries: &str) -> Vec<Built> {
    let messages: Vec<Value> =
        messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // What build scripts printed, by package.
    let scripts: BTreeMap<&str, &Value> = messages
        .iter()
        .filter(|message| message["reason"] == "build-script-executed")
        .filter_map(|message| Some((message["package_id"].as_str()?, message)))
        .collect();
    let artifacts = messages.iter().filter(|message| message["reason"] == "compiler-artifact");
    artifacts.filter_map(|artifact| program(artifact, &scripts, libraries)).collect()
}

/// The directories of the packages that `cargo metadata` describes.
#[must_use]
pub fn packages(metadata: &str) -> Vec<PathBuf> {
    let metadata: Value = serde_json::from_str(metadata).unwrap_or_default();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifests = packages.filter_map(|package| package["manifest_path"].as_str());
    manifests.filter_map(|path| Some(Path::new(path).parent()?.to_owned())).collect()
}

fn program(artifact: &Value, scripts: &BTreeMap<&str, &Value>, libraries: &str) -> Option<Built> {
    let executable = PathBuf::from(artifact["executable"].as_str()?);
    let id = artifact["package_id"].as_str()?;
    let (package, version) = package(id)?;
    let target = artifact["target"]["name"].as_str()?;
    let kinds: Vec<&str> =
        artifact["target"]["kind"].as_array()?.iter().filter_map(Value::as_str).collect();
    if kinds.contains(&"custom-build") {
        return None;
    }
    let name = match kinds.first().copied()? {
        "test" => format!("{package}::{target}"),
        kind @ ("bin" | "example" | "bench") => format!("{package}::{kind}/{target}"),
        _ => package.clone(),
    };
    let manifest = Path::new(artifact["manifest_path"].as_str()?).parent()?.to_owned();
    let mut paths: Vec<String> = Vec::new();
    let mut environment = vec![
        ("CARGO_MANIFEST_DIR".to_owned(), manifest.display().to_string()),
        ("CARGO_PKG_NAME".to_owned(), package),
        ("CARGO_PKG_VERSION".to_owned(), version),
    ];
    if let Some(script) = scripts.get(id) {
        let linked = script["linked_paths"].as_array().into_iter().flatten();
        for path in linked.filter_map(Value::as_str) {
            let plain = path.split_once('=').map_or(path, |(_, path)| path);
            paths.push(plain.to_owned());
        }
        environment
            .extend(script["out_dir"].as_str().map(|dir| ("OUT_DIR".to_owned(), dir.to_owned())));
    }
    // As cargo sets it: libraries of build scripts, of this build, and Rust's own.
    for directory in executable.ancestors().skip(1).take(2) {
        paths.push(directory.display().to_string());
    }
    paths.extend((!libraries.is_empty()).then(|| libraries.to_owned()));
    environment.push(("LD_LIBRARY_PATH".to_owned(), paths.join(":")));
    Some(Built {
        is_test: artifact["profile"]["test"] == true,
        is_library: !["test", "bin", "example", "bench"].contains(&kinds[0]),
        program: Program {
            name,
            command: vec![OsString::from(executable)],
            directory: manifest,
            environment,
            ..Program::default()
        },
    })
}

/// Name and version in a package's id: `path+file:///a/bank#0.1.0`, `...#bank@0.1.0`, or
/// `bank 0.1.0 (path+file:///a/bank)` of earlier versions of cargo.
fn package(id: &str) -> Option<(String, String)> {
    let owned = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
    if let Some((source, rest)) = id.rsplit_once('#') {
        return match rest.split_once('@') {
            Some((name, version)) => owned(name, version),
            None => owned(source.rsplit('/').next()?.split('?').next()?, rest),
        };
    }
    let mut words = id.split(' ');
    owned(words.next()?, words.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_name_and_version() {
        for id in [
            "path+file:///a/bank#0.1.0",
            "path+file:///a/other#bank@0.1.0",
            "bank 0.1.0 (path+file:///a/bank)",
        ] {
            assert_eq!(package(id), Some(("bank".into(), "0.1.0".into())), "{id}");
        }
    }

    #[test]
    fn programs_have_name_directory_and_variables() {
        let artifact = |kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///a/bank#0.1.0","manifest_path":"/a/bank/Cargo.toml","target":{{"name":"transfers","kind":["{kind}"]}},"profile":{{"test":{test}}},"executable":"/t/debug/deps/transfers-1"}}"#
            )
        };
        let script = r#"{"reason":"build-script-executed","package_id":"path+file:///a/bank#0.1.0","linked_paths":["native=/t/out"],"out_dir":"/t/out"}"#;
        let messages = [
            "no JSON".to_owned(),
            artifact("lib", true),
            artifact("test", true),
            artifact("example", false),
            artifact("custom-build", false),
            script.to_owned(),
        ]
        .join("\n");
        let built = built(&messages, "/rust/lib");
        let names: Vec<&str> = built.iter().map(|one| one.program.name.as_str()).collect();
        assert_eq!(names, ["bank", "bank::transfers", "bank::example/transfers"]);
        assert_eq!(built.iter().map(|one| one.is_test).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(built.iter().filter(|one| one.is_library).count(), 1);
        let variable = |name: &str| {
            let all = built[0].program.environment.iter();
            all.filter(|(one, _)| one == name).map(|(_, value)| value.as_str()).collect::<String>()
        };
        assert_eq!(variable("CARGO_MANIFEST_DIR"), "/a/bank");
        assert_eq!(variable("LD_LIBRARY_PATH"), "/t/out:/t/debug/deps:/t/debug:/rust/lib");
    }
}

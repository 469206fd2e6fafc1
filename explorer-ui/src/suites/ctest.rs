//! The tests that `ctest --show-only=json-v1` lists.

use super::expectation::Expectation;
use super::programs::{Fixtures, Program, words};
use serde_json::Value;
use std::path::Path;

/// The programs of `ctest --show-only=json-v1`, run in `build`.
///
/// # Errors
/// If the text is not the object that CTest prints.
pub fn of_ctest(text: &str, build: &Path) -> Result<Vec<Program>, String> {
    let wrong = |what: &str| format!("ctest --show-only=json-v1 printed {what}");
    let object: Value =
        serde_json::from_str(text).map_err(|error| wrong(&format!("no JSON: {error}")))?;
    let tests = object["tests"].as_array().ok_or_else(|| wrong("no list of tests"))?;
    Ok(tests.iter().filter_map(|test| program(test, build)).collect())
}

fn program(test: &Value, build: &Path) -> Option<Program> {
    let property = |name: &str| {
        let all = test["properties"].as_array().into_iter().flatten();
        all.filter(|one| one["name"] == name).map(|one| &one["value"]).next_back()
    };
    let texts = |name: &str| property(name).map(texts).unwrap_or_default();
    let is_set = |name: &str| property(name).is_some_and(|value| *value == Value::Bool(true));
    let command = words(&test["command"]);
    let directory = property("WORKING_DIRECTORY").and_then(Value::as_str);
    let directory = directory.map_or_else(|| build.to_owned(), |directory| build.join(directory));
    // CTest lists no command where the program does not exist, and such a test fails.
    let unusable = command.is_empty();
    let mut environment = assignments(&texts("ENVIRONMENT"));
    for change in texts("ENVIRONMENT_MODIFICATION") {
        modify(&mut environment, &change, |name| std::env::var(name).ok());
    }
    let status = property("SKIP_RETURN_CODE").and_then(Value::as_i64);
    Some(Program {
        name: test["name"].as_str()?.to_owned(),
        is_one_test: command.len() > 1,
        command,
        needed_files: texts("REQUIRED_FILES").iter().map(|file| directory.join(file)).collect(),
        directory,
        environment,
        disabled: is_set("DISABLED").then(|| "it is disabled in CTest".to_owned()),
        unusable: unusable
            .then(|| "CTest knows no program for it: build the project first".to_owned()),
        expectation: Expectation {
            skips_with: status.and_then(|status| i32::try_from(status).ok()),
            fails: is_set("WILL_FAIL"),
            skips_if: texts("SKIP_REGULAR_EXPRESSION"),
            passes_if: texts("PASS_REGULAR_EXPRESSION"),
            fails_if: texts("FAIL_REGULAR_EXPRESSION"),
            protocol: None,
        },
        fixtures: Fixtures {
            needs: texts("FIXTURES_REQUIRED"),
            sets_up: texts("FIXTURES_SETUP"),
            cleans_up: texts("FIXTURES_CLEANUP"),
        },
    })
}

/// A list of texts, or one text.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        list => {
            let all = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            all.map(str::to_owned).collect()
        }
    }
}

/// A list of `NAME=VALUE`.
fn assignments(texts: &[String]) -> Vec<(String, String)> {
    let pairs = texts.iter().filter_map(|text| text.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Applies `NAME=OPERATION:VALUE` to variables that are added to the environment. An unset variable is an
/// empty one.
fn modify(
    environment: &mut Vec<(String, String)>,
    change: &str,
    inherited: impl Fn(&str) -> Option<String>,
) {
    let Some((name, change)) = change.split_once('=') else { return };
    let Some((operation, value)) = change.split_once(':') else { return };
    let own = environment.iter().rposition(|(one, _)| one == name);
    let before = own.map(|at| environment[at].1.clone()).or_else(|| inherited(name));
    let before = before.unwrap_or_default();
    let joined = |first: &str, separator: &str, second: &str| match (first, second) {
        ("", only) | (only, "") => only.to_owned(),
        _ => format!("{first}{separator}{second}"),
    };
    let after = match operation {
        "set" => value.to_owned(),
        "unset" => String::new(),
        // What it was before CTest's own variables.
        "reset" => inherited(name).unwrap_or_default(),
        "string_append" => before + value,
        "string_prepend" => value.to_owned() + &before,
        "path_list_append" => joined(&before, ":", value),
        "path_list_prepend" => joined(value, ":", &before),
        "cmake_list_append" => joined(&before, ";", value),
        "cmake_list_prepend" => joined(value, ";", &before),
        _ => return,
    };
    environment.retain(|(one, _)| one != name);
    environment.push((name.to_owned(), after));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctest_gives_command_directory_and_environment() {
        let text = r#"{"kind":"ctestInfo","tests":[
            {"name":"queue","command":["/b/queue","--fast"],"properties":[
                {"name":"ENVIRONMENT","value":["A=1=2"]},
                {"name":"WORKING_DIRECTORY","value":"/b/sub"}]},
            {"name":"off","command":["/b/off"],"properties":[{"name":"DISABLED","value":true}]},
            {"name":"unbuilt","properties":[]}]}"#;
        let programs = of_ctest(text, Path::new("/b")).expect("valid");
        assert_eq!(programs[0].command, ["/b/queue", "--fast"]);
        assert_eq!(programs[0].directory, Path::new("/b/sub"));
        assert_eq!(programs[0].environment, [("A".to_owned(), "1=2".to_owned())]);
        assert!(programs[0].is_one_test && !programs[1].is_one_test);
        let disabled = |at: usize| programs[at].disabled.as_deref();
        assert_eq!(disabled(1), Some("it is disabled in CTest"));
        assert_eq!(disabled(2), None);
        assert_eq!(
            programs[2].unusable.as_deref(),
            Some("CTest knows no program for it: build the project first")
        );
        let wrong = |text| of_ctest(text, Path::new("/b")).expect_err("not of CTest");
        assert_eq!(
            wrong("no JSON"),
            "ctest --show-only=json-v1 printed no JSON: expected ident at line 1 column 2"
        );
        assert_eq!(wrong("{}"), "ctest --show-only=json-v1 printed no list of tests");
    }

    #[test]
    fn ctest_says_how_a_result_is_judged_and_what_the_test_needs() {
        let text = r#"{"tests":[{"name":"a","command":["/b/a"],"properties":[
            {"name":"WILL_FAIL","value":true},
            {"name":"SKIP_RETURN_CODE","value":77},
            {"name":"PASS_REGULAR_EXPRESSION","value":["x","y"]},
            {"name":"FIXTURES_REQUIRED","value":["base"]},
            {"name":"REQUIRED_FILES","value":["in.txt"]}]}]}"#;
        let one = of_ctest(text, Path::new("/b")).expect("valid").remove(0);
        assert!(one.expectation.fails && one.expectation.skips_with == Some(77));
        assert_eq!(one.expectation.passes_if, ["x", "y"]);
        assert_eq!(one.fixtures.needs, ["base"]);
        assert_eq!(one.needed_files, [Path::new("/b/in.txt")]);
    }

    #[test]
    fn variables_are_changed_in_their_order() {
        let mut environment = vec![("A".to_owned(), "1".to_owned())];
        for change in [
            "A=string_append:2",
            "P=path_list_prepend:/own",
            "P=path_list_append:/last",
            "L=cmake_list_append:x",
            "G=set:v=w:x",
            "H=unset:",
            "odd",
            "A=unknown:3",
        ] {
            modify(&mut environment, change, |name| (name == "P").then(|| "/bin".to_owned()));
        }
        let shown: Vec<String> =
            environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["A=12", "P=/own:/bin:/last", "L=x", "G=v=w:x", "H="]);
    }
}

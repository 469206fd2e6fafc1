//! Tests of every export format on every sample: snapshots, and the rules of the programs that read it.

use super::{Format, render};
use crate::report::samples;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use traces::Trace;

/// The published schema of the JSON format.
const SCHEMA: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/trace.schema.json"));

fn every_sample() -> [(&'static str, Trace); 6] {
    [
        ("two tasks", samples::two_tasks()),
        ("deadlock", samples::deadlock()),
        ("data choice", samples::data_choice()),
        ("assertion", samples::assertion()),
        ("strange names", samples::strange_names()),
        ("empty", samples::empty()),
    ]
}

#[test]
fn snapshots() {
    for (name, format) in [
        ("json", Format::Json),
        ("chrome", Format::Chrome),
        ("dot", Format::Dot),
        ("shiviz", Format::Shiviz),
        ("svg", Format::Svg),
    ] {
        insta::assert_snapshot!(name, render(&samples::two_tasks(), format));
    }
}

#[test]
fn json_names_every_step_and_its_causes() {
    for (name, trace) in every_sample() {
        let object: Value = serde_json::from_str(&render(&trace, Format::Json)).expect(name);
        let steps = object["steps"].as_array().expect(name);
        assert_eq!(steps.len(), trace.execution.steps.len(), "{name}");
        for (at, step) in steps.iter().enumerate() {
            assert_eq!(step["step"], at + 1, "{name}");
            for cause in step["causes"].as_array().expect(name) {
                assert!(cause["step"].as_u64().expect(name) <= at as u64, "{name}: {step}");
            }
        }
    }
}

/// The rules by which Chrome's importer accepts events: each has a known phase with the fields of that
/// phase; the slices of a thread do not overlap; a flow starts before it ends, and both ends lie within
/// a slice of their thread.
#[test]
fn chrome_events_meet_the_rules_of_the_importer() {
    for (name, trace) in every_sample() {
        let object: Value = serde_json::from_str(&render(&trace, Format::Chrome)).expect(name);
        let events = object["traceEvents"].as_array().expect(name);
        let mut slices: HashMap<u64, Vec<(f64, f64)>> = HashMap::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let (start, length) = (event["ts"].as_f64(), event["dur"].as_f64());
            let slice = (start.expect(name), start.expect(name) + length.expect(name));
            slices.entry(event["tid"].as_u64().expect(name)).or_default().push(slice);
        }
        for slices in slices.values() {
            assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{name}: {slices:?}");
        }
        let mut begun = HashSet::new();
        for event in events {
            assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{name}: {event}");
            assert!(event["name"].as_str().is_some_and(|name| !name.is_empty()), "{name}: {event}");
            let within = || {
                let at = event["ts"].as_f64().expect(name);
                let own = slices.get(&event["tid"].as_u64().expect(name));
                own.is_some_and(|own| own.iter().any(|&(start, end)| start <= at && at <= end))
            };
            match event["ph"].as_str().expect(name) {
                "M" => assert!(event["args"].is_object(), "{name}: {event}"),
                "X" => assert!(event["dur"].as_f64() > Some(0.0), "{name}: {event}"),
                "i" => assert!(within() && event["s"] == "p", "{name}: {event}"),
                "s" => assert!(within() && begun.insert(event["id"].clone()), "{name}: {event}"),
                "f" => {
                    assert!(within() && event["bp"] == "e", "{name}: {event}");
                    assert!(begun.remove(&event["id"]), "{name}: {event}");
                }
                _ => panic!("{name}: {event}"),
            }
        }
        assert!(begun.is_empty(), "{name}: flows without an end: {begun:?}");
    }
}

#[test]
fn quotes_and_brackets_of_names_are_escaped() {
    let mut trace = samples::two_tasks();
    trace.execution.objects[1].name = "a\"<b>&\\".into();
    let dot = render(&trace, Format::Dot);
    assert!(dot.contains(r#"lock a\"<b>&\\"#), "{dot}");
    let svg = render(&trace, Format::Svg);
    assert!(svg.contains("lock a&quot;&lt;b&gt;&amp;\\"), "{svg}");
}

/// The default regular expression of ShiViz, which it applies to logs without their own.
const SHIVIZ: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>\{.*\})";

/// The rules of ShiViz: its expression matches each event and clock, a host's count increases by one with
/// each of its events, and no clock contains a count that its host has not reached.
#[test]
fn shiviz_finds_every_event_and_accepts_its_clock() {
    let expression = regex::Regex::new(SHIVIZ).expect("an expression");
    for (name, trace) in every_sample() {
        let log = render(&trace, Format::Shiviz);
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut events = 0;
        let mut end = 0;
        for found in expression.captures_iter(&log) {
            let whole = found.get(0).expect("a match");
            assert!(log[end..whole.start()].trim().is_empty(), "{name}: something is left over");
            end = whole.end();
            let clock: HashMap<String, u64> = serde_json::from_str(&found["clock"]).expect(name);
            let host = &found["host"];
            let own = counts.entry(host.to_owned()).or_default();
            *own += 1;
            assert_eq!(clock.get(host), Some(&*own), "{name}: {log}");
            for (other, count) in &clock {
                assert!(counts.get(other).is_some_and(|come| count <= come), "{name}: {other}");
            }
            events += 1;
        }
        assert!(log[end..].trim().is_empty(), "{name}");
        assert_eq!(events, trace.execution.steps.len(), "{name}");
    }
}

#[test]
fn json_matches_its_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    for (name, trace) in every_sample() {
        let object: Value = serde_json::from_str(&render(&trace, Format::Json)).expect(name);
        let wrong: Vec<String> =
            schema.iter_errors(&object).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
    let mut object: Value =
        serde_json::from_str(&render(&samples::deadlock(), Format::Json)).expect("JSON");
    object["steps"][0]["task"] = 1.into();
    assert!(!schema.is_valid(&object), "the schema takes anything");
}

#[test]
fn pictures_are_well_formed_and_have_a_mark_for_each_step() {
    for (name, trace) in every_sample() {
        let text = render(&trace, Format::Svg);
        let picture = roxmltree::Document::parse(&text)
            .unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        let root = picture.root_element();
        assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"), "{name}");
        let circles = picture.descendants().filter(|node| node.has_tag_name("circle"));
        assert_eq!(circles.count(), trace.execution.steps.len(), "{name}");
        let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
        };
        let (width, height) = (number(&root, "width"), number(&root, "height"));
        for node in picture.descendants().filter(|node| node.has_tag_name("circle")) {
            let within = (0.0..width).contains(&number(&node, "cx"))
                && (0.0..height).contains(&number(&node, "cy"));
            assert!(within, "{name}: outside of the picture: {node:?}");
        }
    }
}

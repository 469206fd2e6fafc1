//! Every form on every sample: what it is read by accepts it, and it looks as it did.

use super::*;
use crate::views::samples;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// What people may check their traces against.
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
fn what_they_look_like() {
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

/// The rules by which Chrome's importer refuses or drops events: each has a phase that it knows with
/// the fields of that phase; slices of a thread do not overlap; a flow is begun before it ends, and
/// each of its ends lies within a slice of its thread.
#[test]
fn chrome_events_are_ones_that_the_importer_takes() {
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

/// ShiViz's own default expression, as it reads logs that come without one.
const SHIVIZ: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>\{.*\})";

/// What ShiViz demands: each event and clock where its expression finds them, each host's own count
/// one more each time, and no count that its host has not come to.
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
fn json_is_as_its_schema_says() {
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

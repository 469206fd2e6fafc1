//! Every form on every sample: what it is read by accepts it, and it looks as it did.

use super::*;
use crate::views::samples;
use serde_json::Value;

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

/// The rules by which Chrome's importer refuses or drops events.
#[test]
fn chrome_events_are_ones_that_the_importer_takes() {
    for (name, trace) in every_sample() {
        let object: Value = serde_json::from_str(&render(&trace, Format::Chrome)).expect(name);
        let events = object["traceEvents"].as_array().expect(name);
        let mut begun = std::collections::HashSet::new();
        for event in events {
            let phase = event["ph"].as_str().expect(name);
            assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{name}: {event}");
            match phase {
                "M" => assert!(event["args"].is_object(), "{name}: {event}"),
                "X" => assert!(event["ts"].is_u64() && event["dur"].is_u64(), "{name}: {event}"),
                "i" => assert!(event["ts"].is_u64() && event["s"] == "p", "{name}: {event}"),
                "s" => assert!(begun.insert(event["id"].clone()), "{name}: {event}"),
                "f" => assert!(begun.contains(&event["id"]), "{name}: {event}"),
                _ => panic!("{name}: {event}"),
            }
        }
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

#[test]
fn shiviz_lines_come_in_pairs_of_event_and_clock() {
    for (name, trace) in every_sample() {
        let log = render(&trace, Format::Shiviz);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), 2 * trace.execution.steps.len(), "{name}");
        for pair in lines.chunks(2) {
            let (host, clock) = pair[1].split_once(' ').expect(name);
            let clock: Value = serde_json::from_str(clock).expect(name);
            assert!(clock[host].as_u64().is_some_and(|own| own > 0), "{name}: {pair:?}");
        }
    }
}

//! One JSON object, described in docs/json.md. New versions add fields and never change the meaning of
//! existing ones; an incompatible change increments `heddle_trace`.

use super::schedule::{Schedule, is_preemption, reason};
use crate::report::json_text;
use crate::report::rows::Row;
use serde_json::{Value, json};
use std::io::{self, Write};
use traces::{Failure, Frame, TaskId};

pub(super) fn write(schedule: &Schedule<'_>, out: &mut dyn Write) -> io::Result<()> {
    let trace = schedule.trace;
    let execution = &trace.execution;
    let lossy = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let tasks: Vec<Value> = (0..schedule.tasks())
        .map(|number| {
            let record = execution.tasks.get(number);
            json!({
                "task": TaskId(number as u16).to_string(),
                "name": record.map_or("", |record| &record.name),
                "function": record.map_or("", |record| &record.function),
                "parent": record.and_then(|record| record.parent).map(|task| task.to_string()),
            })
        })
        .collect();
    let object = json!({
        "heddle_trace": 1,
        "heddle": trace.header.heddle,
        "program": trace.header.program,
        "build_id": trace.header.build_id,
        "args": trace.header.args.iter().map(lossy).collect::<Vec<_>>(),
        "strategy": trace.header.options.strategy,
        "seed": trace.header.options.seed,
        "found_at": trace.header.found_at,
        "preemptions": execution.preemptions().len(),
        "switches": execution.switches(),
        "tasks": tasks,
        "steps": null,
        "failure": trace.failure.as_ref().map(failure),
        "output": lossy(&trace.output),
    });
    // The steps are written one at a time.
    let mut separator = '{';
    for (name, value) in object.as_object().into_iter().flatten() {
        write!(out, "{separator}\"{name}\":")?;
        separator = ',';
        if name != "steps" {
            json_text::write(value, out)?;
            continue;
        }
        out.write_all(b"[")?;
        let mut is_first = true;
        schedule.for_each_step(|row| {
            if !std::mem::take(&mut is_first) {
                out.write_all(b",")?;
            }
            json_text::write(&step(schedule, row), out)
        })?;
        out.write_all(b"]")?;
    }
    out.write_all(b"}\n")
}

fn step(schedule: &Schedule<'_>, row: &Row) -> Value {
    let at = row.step.unwrap_or_default();
    let execution = &schedule.trace.execution;
    let step = &execution.steps[at];
    let object = step.object.and_then(|object| execution.objects.get(object as usize));
    let causes: Vec<Value> = schedule
        .graph
        .causes(at)
        .into_iter()
        .map(|link| json!({"step": link.step + 1, "reason": reason(link.cause)}))
        .collect();
    let data: Vec<Value> = execution
        .data
        .iter()
        .skip(execution.data.partition_point(|choice| choice.step < at as u64))
        .take_while(|choice| choice.step == at as u64)
        .map(|choice| json!({"taken": choice.taken, "of": choice.of}))
        .collect();
    let executed = execution.async_task_at(at, step.task);
    json!({
        "step": at + 1,
        "task": step.task.to_string(),
        "async_task": executed.map(|one| json!({"number": one.id, "name": one.name})),
        "operation": step.operation.name(),
        "object": object.map(|object| json!({"kind": object.kind.name(), "name": object.name})),
        "value": step.value,
        "place": row.cells.first().map_or("", |cell| &cell.site),
        "enabled": row.enabled.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "preemption": is_preemption(row),
        "choices": data,
        "causes": causes,
    })
}

fn failure(failure: &Failure) -> Value {
    let frame = |frame: &Frame| {
        json!({
            "function": frame.function,
            "file": frame.file,
            "line": frame.line,
            "inlined": frame.inlined,
        })
    };
    let stacks: Vec<Value> = failure
        .stacks
        .iter()
        .map(|stack| {
            json!({
                "task": stack.task.to_string(),
                "frames": stack.frames.iter().map(frame).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "kind": failure.kind.name(),
        "signature": failure.signature,
        "message": failure.message,
        "task": failure.task.map(|task| task.to_string()),
        "place": failure.place,
        "waits": failure.waits.iter().map(|wait| json!({
            "task": wait.task.to_string(),
            "holder": wait.holder.map(|holder| holder.to_string()),
        })).collect::<Vec<_>>(),
        "stacks": stacks,
        "past": failure.past.iter().map(|past| json!({
            "what": past.what,
            "task": past.task.to_string(),
            "step": past.step,
            "frames": past.frames.iter().map(frame).collect::<Vec<_>>(),
            "locks": past.locks,
        })).collect::<Vec<_>>(),
    })
}

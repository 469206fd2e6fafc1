//! The documentation of the methods.

use super::registry::METHODS;
use super::schema::{Field, Kind};

/// `docs/serve.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    for method in METHODS {
        text.push_str(&format!("- [`{0}`](#{0}): {1}\n", method.name, method.summary));
    }
    for method in METHODS {
        text.push_str(&format!("\n### {}\n\n{}.\n", method.name, method.summary));
        if !method.params.is_empty() {
            text.push_str("\nArguments:\n\n");
            fields(method.params, true, 0, &mut text);
        }
        text.push_str("\nResult:\n\n");
        fields(method.result, false, 0, &mut text);
    }
    text
}

const INTRODUCTION: &str = "\
# The server for programs and agents

`heddle serve` reads requests of [JSON-RPC 2.0](https://www.jsonrpc.org/specification) from standard \
input, one on a line, and writes the answers to standard output. With `--mcp` the same methods are \
tools of the [Model Context Protocol](https://modelcontextprotocol.io). This page is generated from \
the program; `heddle serve --schema` prints the same as JSON schemas. The guide has \
[examples](guide/programs.md).

- Steps are counted from 1. The position is the step that is about to run.
- A list has `total`, the number of all its elements; `from` and `limit` select a part. A text is cut \
after 16,000 bytes, with a sign. An answer is at most 1 MB long.
- While a request runs, notifications `progress` arrive with its `id` and a `text`. The notification \
`cancel` with the `id` of a request ends it: a search answers with what it found, and other requests \
with the error -32800.
- Requests are carried out one after the other. When the input ends, those that were sent are \
answered; what still runs 5 seconds later is cancelled.
- Errors: -32700 the message is no JSON, -32600 it is no request (or longer than 1 MB), -32601 no such \
method, -32602 wrong arguments, -32000 the program or a file did not allow it, -32603 a mistake in \
Heddle. The message says what to do.

## Methods

";

/// A list of fields. Optional ones are marked if they are arguments.
fn fields(fields: &[Field], arguments: bool, depth: usize, text: &mut String) {
    for field in fields {
        let indent = "  ".repeat(depth);
        let must = if arguments && field.required { ", required" } else { "" };
        let kind = shape(&field.kind);
        text.push_str(&format!("{indent}- `{}` ({kind}{must}): {}\n", field.name, field.help));
        if let Some(inner) = inner(&field.kind) {
            self::fields(inner, arguments, depth + 1, text);
        }
    }
}

/// The type without the fields of objects, which are listed below it.
fn shape(kind: &Kind) -> String {
    match kind {
        Kind::Object(_) => "object".to_owned(),
        Kind::List(of) => format!("list of: {}", shape(of)),
        Kind::Nullable(of) => format!("{}, or null", shape(of)),
        other => other.words(),
    }
}

fn inner(kind: &Kind) -> Option<&'static [Field]> {
    match kind {
        Kind::Object(fields) => Some(fields),
        Kind::List(of) | Kind::Nullable(of) => inner(of),
        _ => None,
    }
}

//! Where a thread keeps the number of the asynchronous task that it executes. tokio keeps it in its thread-local
//! context, so that `tokio::task::id()` can return it; the debug information says where in it.

use super::image::Image;
use super::typed::{Shape, TypeId};

/// A part of the mangled name of tokio's context, in both schemes.
const SYMBOL: &str = "5tokio7runtime7context7CONTEXT";
/// A part of the names of tokio's compilation units.
const UNIT: &str = "tokio";
/// The type of the context, and the member with the number: an optional number that is not zero.
const CONTEXT: &str = "Context";
const NUMBER: &str = "current_task_id";
const SIZE: u64 = 8;
/// The storage of a thread-local variable, a cell, and the context.
const DEEPEST: u32 = 6;

/// The distance of that word from the thread pointer, for a program that links tokio and has debug information.
pub(crate) fn word(image: &Image) -> Option<i64> {
    image.async_word(find)
}

fn find(image: &Image) -> Option<i64> {
    // Most programs have no such symbol, and to read all debug information takes long.
    if !image.has_thread_local(SYMBOL) {
        return None;
    }
    let statics = image.typed_statics(UNIT);
    let own = statics.into_iter().filter(|(_, variable)| variable.thread_local);
    own.into_iter().find_map(|(_, variable)| {
        let within = offset(image, variable.kind, DEEPEST)?;
        Some(variable.address.wrapping_add(within) as i64)
    })
}

/// The distance of the number from the start of a type that contains the context.
fn offset(image: &Image, kind: TypeId, deepest: u32) -> Option<u64> {
    let described = image.describe(kind)?;
    if deepest == 0 || !described.name.contains(CONTEXT) {
        return None;
    }
    let within = |at: u64, kind| Some(at + offset(image, kind, deepest - 1)?);
    match described.shape {
        Shape::Record(members) => members.into_iter().find_map(|member| {
            let is_number = member.name.as_deref() == Some(NUMBER);
            if is_number {
                let size = image.describe(member.kind)?.size;
                return (size == Some(SIZE)).then_some(member.offset);
            }
            within(member.offset, member.kind)
        }),
        Shape::Variants { variants, .. } => {
            variants.into_iter().find_map(|variant| within(variant.offset, variant.kind))
        }
        _ => None,
    }
}

//! Types of the standard libraries of C++ and Rust, as their debug information describes them: libstdc++,
//! libc++, and Rust's `std`. No function of the program is called.

use crate::predicates::variables::{TypeRef, member};
use crate::symbols::typed::Shape;

/// The deepest nesting of structures in which a member is sought.
const DEEPEST: u32 = 8;

fn is_pointer(of: &TypeRef) -> bool {
    of.describe().is_some_and(|of| matches!(of.shape, Shape::Pointer { .. }))
}

/// Whether a type, without its parameters, has one of these names.
fn is_called(of: &TypeRef, names: &[&str]) -> bool {
    of.describe().is_some_and(|of| {
        let name = of.name.split('<').next().unwrap_or_default();
        names.contains(&name.rsplit("::").next().unwrap_or(name))
    })
}

/// A member at the end of a path of names.
pub(super) fn path(of: &TypeRef, names: &[&str]) -> Option<(u64, TypeRef)> {
    names.iter().try_fold((0, of.clone()), |(start, of), name| {
        let (offset, kind, _) = member(&of, name, 0)?;
        Some((start + offset, kind))
    })
}

/// The pointer in a `unique_ptr` or `shared_ptr`: its offset and type.
pub(super) fn smart_pointer(of: &TypeRef) -> Option<(u64, TypeRef)> {
    if !is_called(of, &["unique_ptr", "shared_ptr"]) {
        return None;
    }
    pointer_within(of, 0)
}

fn pointer_within(of: &TypeRef, depth: u32) -> Option<(u64, TypeRef)> {
    let Shape::Record(members) = of.describe()?.shape else { return None };
    let names = ["_M_head_impl", "_M_ptr", "__ptr_", "__value_"];
    for member in &members {
        let kind = of.with(member.kind);
        if member.name.as_deref().is_some_and(|name| names.contains(&name)) && is_pointer(&kind) {
            return Some((member.offset, kind));
        }
    }
    members.iter().filter(|_| depth < DEEPEST).find_map(|member| {
        let (offset, kind) = pointer_within(&of.with(member.kind), depth + 1)?;
        Some((member.offset + offset, kind))
    })
}

/// Where the elements of a `vector`, `string` or `array` of C++ are: a pointer to them, or an array.
pub(super) fn elements(of: &TypeRef) -> Option<(u64, TypeRef)> {
    let pointers: [&[&str]; 3] =
        [&["_M_impl", "_M_start"], &["_M_dataplus", "_M_p"], &["__begin_"]];
    let pointer =
        pointers.iter().find_map(|names| path(of, names).filter(|found| is_pointer(&found.1)));
    pointer.or_else(|| {
        let array = ["_M_elems", "__elems_"].iter().find_map(|name| path(of, &[name]));
        array.filter(|_| is_called(of, &["array"]))
    })
}

/// Where a container of C++ has the number of its elements.
pub(super) fn stored_count(of: &TypeRef) -> Option<(u64, TypeRef)> {
    let paths: [&[&str]; 4] = [
        &["_M_string_length"],
        &["_M_impl", "_M_node", "_M_size"],
        &["_M_t", "_M_impl", "_M_node_count"],
        &["_M_h", "_M_element_count"],
    ];
    paths.iter().find_map(|names| path(of, names))
}

/// Where a vector of C++ has its first and its last pointer.
pub(super) fn both_ends(of: &TypeRef) -> Option<[(u64, TypeRef); 2]> {
    let paths: [[&[&str]; 2]; 2] =
        [[&["_M_impl", "_M_start"], &["_M_impl", "_M_finish"]], [&["__begin_"], &["__end_"]]];
    paths.iter().find_map(|[first, last]| {
        let (first, last) = (path(of, first)?, path(of, last)?);
        (is_pointer(&first.1) && is_pointer(&last.1)).then_some([first, last])
    })
}

/// What a lock or a cell of Rust contains.
pub(super) fn contents(of: &TypeRef) -> Option<(u64, TypeRef)> {
    let names =
        ["Mutex", "RwLock", "UnsafeCell", "SyncUnsafeCell", "Cell", "RefCell", "CachePadded"];
    if !is_called(of, &names) {
        return None;
    }
    ["data", "value"].iter().find_map(|name| path(of, &[name]))
}

/// The container in an adaptor: `queue`, `stack`.
pub(super) fn adapted(of: &TypeRef) -> Option<(u64, TypeRef)> {
    if !is_called(of, &["queue", "stack", "priority_queue"]) {
        return None;
    }
    path(of, &["c"])
}

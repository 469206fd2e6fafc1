//! Arrays whose last element is marked: of strings, and of options for `getopt_long`.

use crate::detect::access::peek;
use crate::instrument::binary::operand::LOWEST;
use crate::instrument::binary::variable_arguments::length;

/// How many elements are followed.
const MOST: u64 = 1024;

const POINTER: u64 = 8;

/// `struct option`: a name, whether it has an argument, the address of a flag, and its value.
const OPTION: u64 = 32;
const FLAG: u64 = 16;

/// Calls `each` with the C strings of an array of so many pointers, or of one that ends with a null pointer.
pub(super) fn texts(list: u64, count: Option<u64>, each: &mut dyn FnMut(u64, u64)) {
    if list < LOWEST {
        return;
    }
    // The count is an `int`, which the register need not hold as 64 bits.
    let count = count.map_or(MOST, |count| u64::from((count as i32).max(0) as u32)).min(MOST);
    let texts = (0..count).map(|at| peek(list + POINTER * at, POINTER));
    texts.take_while(|&text| text >= LOWEST).for_each(|text| each(text, length(text, None)));
}

/// Calls `each` with the options of an array, and with their names.
pub(super) fn options(list: u64, each: &mut dyn FnMut(u64, u64)) {
    let names =
        || (0..).map(|at| peek(list + OPTION * at, POINTER)).take_while(|&name| name >= LOWEST);
    if list < LOWEST {
        return;
    }
    let count = names().take(MOST as usize).count() as u64;
    each(list, OPTION * (count + 1));
    names().take(MOST as usize).for_each(|name| each(name, length(name, None)));
}

/// Calls `each` with the flags to which the options of an array lead.
pub(super) fn option_flags(list: u64, each: &mut dyn FnMut(u64, u64)) {
    if list < LOWEST {
        return;
    }
    let options = (0..MOST).map(|at| list + OPTION * at);
    options
        .take_while(|&option| peek(option, POINTER) >= LOWEST)
        .map(|option| peek(option + FLAG, POINTER))
        .filter(|&flag| flag >= LOWEST)
        .for_each(|flag| each(flag, size_of::<i32>() as u64));
}

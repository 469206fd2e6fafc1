//! Programs that write to variables and pass functions many times within one step.

use crate::hits::Numbers;
use std::fmt::Write;

/// The number of variables that a program writes to.
pub const HOT_VARIABLES: usize = 2;
/// The number of functions that it calls.
pub const HOT_FUNCTIONS: usize = 2;
/// About the largest number of writes and calls.
const EVENTS: u64 = 300;

/// A program whose threads execute loops in loops, with writes and calls at all depths. The lock
/// makes a thread's loops one step.
#[must_use]
pub fn hot(numbers: &mut Numbers) -> String {
    let mut text = String::from(
        "#include <pthread.h>\n#include <string.h>\n\
         static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nvolatile long other;\n",
    );
    for variable in 0..HOT_VARIABLES {
        let _ = writeln!(text, "volatile long w{variable} __attribute__((aligned(64)));");
    }
    for function in 0..HOT_FUNCTIONS {
        let _ = write!(text, "__attribute__((noipa)) void g{function}(long i) {{ other += i;");
        if numbers.below(2) == 0 {
            let _ = write!(text, " w{} = other + {function};", numbers.below(2));
        }
        text.push_str(" }\n");
    }
    let threads = 1 + numbers.below(2);
    for thread in 0..threads {
        let _ = write!(text, "static void *t{thread}(void *x) {{ pthread_mutex_lock(&lock);");
        for _ in 0..=numbers.below(2) {
            statement(numbers, &mut text, 0, EVENTS / threads / 2);
        }
        text.push_str(" pthread_mutex_unlock(&lock); return x; }\n");
    }
    let _ = write!(text, "int main(void) {{ pthread_t t[{threads}];");
    for thread in 0..threads {
        let _ = write!(text, " pthread_create(&t[{thread}], 0, t{thread}, 0);");
    }
    let _ = write!(text, " for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);");
    text.push_str(" return 0; }\n");
    text
}

/// A statement at a depth of loops that executes about this many writes and calls.
fn statement(numbers: &mut Numbers, text: &mut String, depth: usize, events: u64) {
    let name = ["i", "j", "k", "l"][depth];
    if depth < 3 && events > 3 && numbers.below(8) > 0 {
        let parts = 1 + numbers.below(3);
        let turns = 1 + numbers.below(events / parts);
        let _ = write!(text, " for (long {name} = 0; {name} < {turns}; {name}++) {{");
        for _ in 0..parts {
            statement(numbers, text, depth + 1, events / parts / turns);
        }
        text.push_str(" }");
        return;
    }
    let turn = if depth == 0 { "7" } else { ["i", "j", "k"][depth - 1] };
    let variable = numbers.below(2);
    let _ = match numbers.below(8) {
        0 => write!(text, " w{variable} = {turn};"),
        1 => write!(text, " w{variable} += {turn} + 1;"),
        2 => write!(text, " if ({turn} % 3 == 0) w{variable} ^= 5;"),
        3 => write!(text, " w0 = {turn}; w1 = {turn} + w0;"),
        4 => write!(text, " memset((void *)&w{variable}, {turn} & 127, sizeof w{variable});"),
        5 => write!(text, " for (long q = 0; q < 300; q++) other ^= q;"),
        6 => write!(text, " g0({turn});"),
        _ => write!(text, " if ({turn} & 1) g1({turn}); else other++;"),
    };
}

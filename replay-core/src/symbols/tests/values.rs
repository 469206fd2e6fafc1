//! Values of expressions in a stopped process.

use super::{Dir, Stopped};
use crate::symbols::expressions::parse;

/// Checks expressions in a program that has stopped itself.
fn check(stopped: &Stopped, cases: &[(&str, Result<&str, &str>)]) {
    let frames = stopped.symbols.live(&stopped.registers, true, &stopped.memory);
    for (text, expected) in cases {
        let expression = parse(text).expect("it can be read");
        let value = stopped
            .symbols
            .static_value(&expression, &stopped.memory)
            .or_else(|| stopped.symbols.local_value(&expression, &frames, &stopped.memory))
            .unwrap_or_else(|| Err("nothing".to_owned()));
        let value = value.as_ref().map(String::as_str).map_err(String::as_str);
        assert_eq!(value, *expected, "{text}");
    }
}

#[test]
fn members_elements_and_what_pointers_lead_to() {
    let text = r#"
#include <pthread.h>
#include <signal.h>
enum state { CLOSED, OPEN = 7 };
struct account { char owner[8]; long balance; enum state state; union { int one; char two; }; };
struct queue { int len; struct account *first; struct queue *next; pthread_mutex_t lock; };
static struct account accounts[2] = { { "ann", -5, OPEN, { 65 } }, { "bob", 7, CLOSED, { 0 } } };
struct queue *q;
double rate = 1.5;
static int grid[2][2] = { { 1, 2 }, { 3, 4 } };
unsigned char byte = 200;
const char *title = "a \"title\"";
int (*function)(int);
int many[20];
__attribute__((noinline)) static int serve(struct queue *mine, int count)
{
    struct account copy = accounts[1];
    {
        int count = 3;
        raise(SIGSTOP);
        copy.balance += count;
    }
    return mine->len + count + (int)copy.balance;
}
int main(void)
{
    struct queue here = { 2, &accounts[1], 0, PTHREAD_MUTEX_INITIALIZER };
    q = &here;
    return serve(q, 1) + accounts[0].one;
}
"#;
    let dir = Dir::new();
    let stopped = Stopped::new(&dir.compile("values.c", text, &["-g"]));
    check(
        &stopped,
        &[
            ("q->len", Ok("2")),
            ("q.len", Ok("2")),
            ("(*q).len", Ok("2")),
            ("q->first->owner", Ok("\"bob\"")),
            ("q->first[-1].balance", Ok("-5")),
            ("accounts[1].balance", Ok("7")),
            ("accounts[0].state", Ok("OPEN")),
            ("accounts[0].one", Ok("65")),
            ("accounts[0].two", Ok("65 'A'")),
            ("accounts[1]", Ok("{owner: \"bob\", balance: 7, state: CLOSED, {one: 0, two: 0}}")),
            ("accounts[2]", Err("it has 2 elements")),
            ("accounts[-1]", Err("it has 2 elements")),
            ("accounts[0].nothing", Err("account has no member nothing")),
            ("q->next", Ok("null")),
            ("q->next->len", Err("a null pointer")),
            ("q->lock", Ok("{...}")),
            ("rate", Ok("1.5")),
            ("byte", Ok("200")),
            ("grid", Ok("[1, 2, 3, 4]")),
            ("function", Ok("null")),
            ("many", Ok("[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...]")),
            ("rate.x", Err("double has no member x")),
            ("*rate", Err("it is not a pointer")),
            // Locals; the innermost of a name.
            ("count", Ok("3")),
            ("mine->first->balance", Ok("7")),
            ("copy.owner", Ok("\"bob\"")),
            ("here.len", Ok("2")),
            ("nowhere", Err("nothing")),
        ],
    );
    let title = parse("title").expect("it can be read");
    let value = stopped.symbols.static_value(&title, &stopped.memory).expect("it is there");
    assert!(value.as_ref().is_ok_and(|it| it.ends_with(r#" "a \"title\"""#)), "{value:?}");
}

#[test]
fn values_of_other_languages() {
    let text = r#"
#include <atomic>
#include <csignal>
#include <mutex>
namespace shop { struct Base { int id = 4; }; struct Till : Base { std::atomic<int> open{3}; bool on = true; std::mutex gate; }; Till till; }
int main() { auto &here = shop::till; raise(SIGSTOP); return here.open; }
"#;
    let dir = Dir::new();
    let stopped = Stopped::new(&dir.compile("values.cc", text, &["-g"]));
    check(
        &stopped,
        &[
            ("shop::till.open", Ok("3")),
            ("till.id", Ok("4")),
            ("here.on", Ok("true")),
            ("here", Ok("{{id: 4}, open: 3, on: true, gate: {...}}")),
        ],
    );
    let text = r#"
use std::sync::atomic::{AtomicUsize, Ordering};
struct Pair { left: (i32, u8), on: bool }
static OPEN: AtomicUsize = AtomicUsize::new(5);
unsafe extern "C" { fn raise(signal: i32) -> i32; }
fn main() {
    let pair = Pair { left: (-1, 2), on: true };
    unsafe { raise(19) };
    println!("{} {} {}", pair.left.0, pair.left.1, pair.on as usize + OPEN.load(Ordering::SeqCst));
}
"#;
    let stopped = Stopped::new(&dir.compile("values.rs", text, &["-g"]));
    check(&stopped, &[("OPEN", Ok("5")), ("pair.left.0", Ok("-1")), ("pair.on", Ok("true"))]);
}

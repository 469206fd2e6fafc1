// Variables of many types, for conditions of predicates. No run fails.
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

#[derive(Clone, Copy, PartialEq)]
#[allow(dead_code)]
enum Colour { Red, Green, Blue }

#[allow(dead_code)]
enum Shape { Dot, Circle(u32), Square { side: u64 } }

#[allow(dead_code)]
struct Queue {
    items: Vec<u32>,
    limit: usize,
    colour: Colour,
    last: Option<u32>,
    before: Option<u32>,
    next: Option<Box<u64>>,
    shape: Shape,
    result: Result<u8, u64>,
    load: f64,
    open: bool,
    letters: String,
}

static COUNT: AtomicUsize = AtomicUsize::new(0);
static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    items: Vec::new(),
    limit: 4,
    colour: Colour::Green,
    last: None,
    before: None,
    next: None,
    shape: Shape::Dot,
    result: Ok(3),
    load: 1.5,
    open: true,
    letters: String::new(),
});
static mut PLAIN: i32 = 0;

thread_local! { static MINE: Cell<u32> = const { Cell::new(7) }; }

#[inline(never)]
fn look(queue: &Queue, part: &[u32], name: &str, number: u32, last: Option<u32>) -> u32 {
    MINE.with(|mine| mine.set(mine.get() + number));
    queue.limit as u32 + part.len() as u32 + name.len() as u32 + last.unwrap_or(0) // look
}

fn work(number: u32) {
    let mut queue = QUEUE.lock().unwrap();
    queue.items.push(number);
    queue.last = Some(number);
    queue.next = Some(Box::new(9));
    queue.shape = if number == 1 { Shape::Circle(5) } else { Shape::Square { side: 6 } };
    queue.letters.push('x');
    let items = queue.items.clone();
    let sum = look(&queue, &items, "abc", number, Some(number));
    COUNT.fetch_add(sum as usize, Ordering::SeqCst);
    unsafe { PLAIN += 1 };
}

fn main() {
    let one = std::thread::Builder::new().name("one".into()).spawn(|| work(1)).unwrap();
    one.join().unwrap();
    let two = std::thread::Builder::new().name("two".into()).spawn(|| work(2)).unwrap();
    two.join().unwrap();
}

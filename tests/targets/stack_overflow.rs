//! An endless recursion, in a thread of the standard library; in main, if the argument is given.

use std::hint::black_box;

#[inline(never)]
fn fall(above: &mut [u8; 256]) -> u32 {
    let mut here = [above[0].wrapping_add(1); 256];
    // Never true, but the compiler cannot know.
    if black_box(here.len()) == 0 {
        return 0;
    }
    fall(black_box(&mut here)) + u32::from(here[0])
}

fn work() -> u32 {
    fall(&mut [0; 256])
}

fn main() {
    if std::env::args().nth(1).is_some_and(|place| place == "main") {
        black_box(work());
    }
    black_box(std::thread::spawn(work).join().unwrap());
}

//! `tests/targets/increment.c` with the standard library's threads and mutex.

use std::sync::Mutex;

static COUNTER: Mutex<u64> = Mutex::new(0);

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let threads = args.next().unwrap_or(2);
    let rounds = args.next().unwrap_or(1);
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            std::thread::spawn(move || {
                for _ in 0..rounds {
                    let seen = *COUNTER.lock().unwrap();
                    *COUNTER.lock().unwrap() = seen + 1;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let right = *COUNTER.lock().unwrap() == threads * rounds;
    std::process::exit(if right { 0 } else { 1 });
}

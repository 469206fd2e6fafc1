use crossbeam_deque::Worker;
use std::thread;

#[test]
fn each_task_is_taken_once() {
    let mine = Worker::new_lifo();
    let stealer = mine.stealer();
    for task in 0..65 {
        mine.push(task);
    }
    let mut done = Vec::new();
    for _ in 0..33 {
        done.extend(mine.pop());
    }
    let thief = thread::spawn(move || {
        let stolen = Worker::new_lifo();
        let _ = stealer.steal_batch(&stolen);
        std::iter::from_fn(|| stolen.pop()).collect::<Vec<i32>>()
    });
    for _ in 0..20 {
        done.extend(mine.pop());
    }
    for task in 65..80 {
        mine.push(task);
    }
    done.extend(thief.join().unwrap());
    done.extend(std::iter::from_fn(|| mine.pop()));
    done.sort_unstable();
    assert_eq!(done, (0..80).collect::<Vec<i32>>());
}

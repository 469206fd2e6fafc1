use async_lock::Lock;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// The lock counts a task that has waited for half a millisecond as starved.
#[test]
fn each_thread_gets_the_lock() {
    let lock = Lock::new(0);
    let threads = [(); 3].map(|()| {
        let lock = lock.clone();
        thread::spawn(move || {
            let mut count = block_on(lock.lock());
            thread::sleep(Duration::from_millis(1));
            *count += 1;
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*block_on(lock.lock()), 3);
}

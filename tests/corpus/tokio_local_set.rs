use std::thread;
use tokio::task::LocalSet;

/// A value that must be dropped by the thread that made it, like an `Rc`.
struct Local(thread::ThreadId);

impl Drop for Local {
    fn drop(&mut self) {
        if thread::current().id() != self.0 {
            eprintln!("a local task was dropped by another thread");
            std::process::abort();
        }
    }
}

#[test]
fn an_aborted_task_is_dropped_by_its_own_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let local = LocalSet::new();
    let value = Local(thread::current().id());
    let task = local.spawn_local(async move {
        let _value = value;
        std::future::pending::<()>().await;
    });
    local.block_on(&runtime, async { tokio::task::yield_now().await });
    let aborting = thread::spawn(move || task.abort());
    drop(local);
    aborting.join().unwrap();
}

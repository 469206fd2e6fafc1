//! Readers and writers: two readers, who begin together when a first edition is there, and a writer who brings out two
//! editions of both halves of a text. args: the mistake to plant.

#[path = "classic.rs"]
mod classic;

use classic::{Sheet, mistake, pthread_detach};
use std::mem::forget;
use std::os::unix::thread::JoinHandleExt;
use std::sync::{Barrier, Condvar, Mutex, RwLock};
use std::thread;

const READERS: usize = 2;

struct Library {
    text: RwLock<(u32, u32)>,
    editions: Mutex<u32>,
    printed: Condvar,
    readers: Mutex<usize>,
}

impl Library {
    fn await_edition(&self) {
        let mut editions = self.editions.lock().unwrap();
        while *editions == 0 {
            editions = self.printed.wait(editions).unwrap();
        }
    }

    fn read(&self) {
        self.await_edition();
        let text = self.text.read().unwrap();
        if mistake("read-recursion") {
            assert_eq!(*text, *self.text.read().unwrap());
        }
        if mistake("self-deadlock") {
            // Corrects a misprint.
            self.text.write().unwrap().0 = text.1;
        }
        assert_eq!(text.0, text.1);
        *self.readers.lock().unwrap() += 1;
        if mistake("lock-left-held") {
            forget(text);
        }
    }

    fn print(&self) {
        // The readers take these two in reverse order.
        let early = mistake("deadlock").then(|| self.readers.lock().unwrap());
        let mut text = self.text.write().unwrap();
        text.0 += 1;
        text.1 += 1;
        drop((text, early));
        *self.editions.lock().unwrap() += 1;
        self.printed.notify_all();
    }
}

fn main() {
    let library: &Library = Box::leak(Box::new(Library {
        text: RwLock::new((0, 0)),
        editions: Mutex::new(0),
        printed: Condvar::new(),
        readers: Mutex::new(0),
    }));
    let begin: &Barrier =
        Box::leak(Box::new(Barrier::new(READERS + usize::from(mistake("barrier-count")))));
    let sheet = Sheet::new(READERS as u32);
    let reader = |_| {
        thread::spawn(|| {
            begin.wait();
            library.read();
            sheet.sign();
        })
    };
    let readers: Vec<_> = (0..READERS).map(reader).collect();
    let writer = thread::spawn(|| {
        library.print();
        library.print();
    });
    sheet.collect();
    if mistake("thread-misuse") {
        pthread_detach(writer.as_pthread_t());
    }
    writer.join().unwrap();
    for reader in readers {
        reader.join().unwrap();
    }
    assert_eq!(*library.readers.lock().unwrap(), READERS);
}

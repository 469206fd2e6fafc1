//! Names of variables and of objects.

use super::{Dir, Stopped};
use crate::symbols::Symbols;
use object::{Object, ObjectSymbol};
use std::path::Path;
use traces::{Module, ObjectLocation, Site, TaskId};

fn open(program: &Path) -> (Symbols, Vec<(String, u64)>) {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let named = file.symbols().map(|symbol| (symbol.name().unwrap().to_owned(), symbol.address()));
    let path = program.to_str().unwrap().to_owned();
    let module = Module { path, build_id: String::new() };
    (Symbols::of_modules(&[module]), named.collect())
}

fn site(names: &[(String, u64)], name: &str) -> Site {
    let find = |test: &dyn Fn(&str) -> bool| {
        names.iter().find(|(linked, address)| *address != 0 && test(linked))
    };
    let found = find(&|linked| linked == name).or_else(|| find(&|linked| linked.contains(name)));
    Site { module: 0, offset: found.unwrap_or_else(|| panic!("no {name}")).1 }
}

#[test]
fn variables_with_static_storage() {
    let dir = Dir::new();
    let text = r#"
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { long head, tail; pthread_mutex_t mutex; } queue;
int *bump(void) { static int counter; return &counter; }
int main(void) { pthread_mutex_lock(&queue.mutex); *bump() = 1; return pthread_mutex_lock(&lock); }
"#;
    let (symbols, names) = open(&dir.compile("vars.c", text, &["-O1"]));
    let lock = site(&names, "lock");
    assert_eq!(symbols.variable(lock), Some("lock".into()));
    let queue = site(&names, "queue");
    let inside = Site { offset: queue.offset + 0x18, ..queue };
    assert_eq!(symbols.variable(inside), Some("queue+0x18".into()));
    assert_eq!(symbols.object_name(&ObjectLocation::Static(inside)), "queue+0x18");
    assert_eq!(symbols.object_name(&ObjectLocation::Static(lock)), "lock");
    let counter = symbols.variable(site(&names, "counter")).unwrap();
    assert!(counter.starts_with("counter"), "{counter:?}");
    let past = Site { offset: 1 << 40, ..lock };
    assert_eq!(symbols.variable(past), None);
    assert_eq!(symbols.object_name(&ObjectLocation::Static(past)), "vars-c.out+0x10000000000");
}

#[test]
fn variables_in_other_languages() {
    let dir = Dir::new();
    let text = r#"
#include <mutex>
namespace shop { struct Till { static std::mutex gate; }; std::mutex Till::gate; }
int main() { static std::mutex once; once.lock(); shop::Till::gate.lock(); }
"#;
    let (symbols, names) = open(&dir.compile("vars.cc", text, &[]));
    assert_eq!(symbols.variable(site(&names, "gate")).unwrap(), "shop::Till::gate");
    assert_eq!(symbols.variable(site(&names, "once")).unwrap(), "main::once");
    let text = r#"
use std::sync::Mutex;
static TILL: Mutex<Vec<u8>> = Mutex::new(Vec::new());
fn main() { TILL.lock().unwrap().push(1); println!("{:?}", TILL); }
"#;
    let (symbols, names) = open(&dir.compile("vars.rs", text, &[]));
    assert_eq!(symbols.variable(site(&names, "TILL")).unwrap(), "vars::TILL");
}

#[test]
fn parts_of_variables_have_names() {
    let dir = Dir::new();
    let c = r#"
#include <pthread.h>
#include <semaphore.h>
struct fork { pthread_mutex_t lock; int uses; };
struct table { int seats; struct fork forks[3]; union { long all; struct { int a, b; }; } count; };
static struct table table;
int grid[2][3];
sem_t ready;
int main(void) { return pthread_mutex_lock(&table.forks[1].lock) + grid[1][2] + sem_post(&ready); }
"#;
    let cpp = r#"
#include <atomic>
#include <condition_variable>
#include <mutex>
struct Base { std::mutex gate; };
class Queue : public Base { public: int length = 0; std::condition_variable filled; std::atomic<int> users[2]; };
Queue queue;
int main() { queue.gate.lock(); queue.filled.notify_one(); return queue.length + queue.users[1]; }
"#;
    let rust = r#"
use std::sync::{Mutex, atomic::AtomicU32};
struct Shop { name: &'static str, till: Mutex<u64>, open: (u32, AtomicU32) }
static SHOP: Shop = Shop { name: "x", till: Mutex::new(1), open: (1, AtomicU32::new(2)) };
fn main() { println!("{} {:?} {:?}", SHOP.name, SHOP.till, SHOP.open); }
"#;
    let check = |file: &str, text: &str, variable: &str, parts: &[(u64, &str)]| {
        let (symbols, names) = open(&dir.compile(file, text, &["-g"]));
        let start = site(&names, variable);
        for (offset, part) in parts {
            let name = symbols.variable(Site { offset: start.offset + offset, ..start });
            assert_eq!(name.as_deref(), Some(*part), "{file}: {variable} and {offset}");
        }
    };
    let table = [
        (0, "table.seats"),
        (4, "table+0x4"),
        (8, "table.forks[0].lock"),
        (8 + 40, "table.forks[0].uses"),
        (8 + 48, "table.forks[1].lock"),
        // Inside of a library's type.
        (8 + 48 + 4, "table.forks[1].lock+0x4"),
        (8 + 3 * 48, "table.count.all"),
    ];
    check("parts.c", c, "table", &table);
    check("parts.c", c, "grid", &[(0, "grid[0][0]"), (8, "grid[0][2]"), (12, "grid[1][0]")]);
    check("parts.c", c, "ready", &[(0, "ready"), (8, "ready+0x8")]);
    let queue = [
        (0, "queue.gate"),
        (40, "queue.length"),
        (48, "queue.filled"),
        (96, "queue.users[0]"),
        (100, "queue.users[1]"),
    ];
    check("parts.cc", cpp, "queue", &queue);
    let (symbols, names) = open(&dir.compile("parts.rs", rust, &["-g"]));
    let start = site(&names, "SHOP");
    // The compiler may reorder the fields.
    let name = |offset| symbols.variable(Site { offset: start.offset + offset, ..start }).unwrap();
    let mut seen: Vec<String> = (0..40).map(name).filter(|name| !name.contains('+')).collect();
    seen.sort();
    seen.dedup();
    let fields = ["data_ptr", "length"].map(|part| format!("parts::SHOP.name.{part}"));
    let others = ["open.0", "open.1", "till"].map(|part| format!("parts::SHOP.{part}"));
    assert_eq!(seen, [&fields[..], &others].concat());
}

#[test]
fn local_variables_have_names() {
    let dir = Dir::new();
    let text = r#"
#include <pthread.h>
#include <signal.h>
struct shop { long open; pthread_mutex_t tills[2]; };
__attribute__((noinline)) static int serve(struct shop *shop)
{
    volatile int served[2] = { 1, 2 };
    {
        volatile long inner = 3;
        raise(SIGSTOP);
        inner++;
    }
    return served[0] + (int)shop->open;
}
int main(void)
{
    struct shop here = { 1, { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER } };
    pthread_mutex_lock(&here.tills[1]);
    return serve(&here);
}
"#;
    for options in [&["-g"][..], &["-g", "-O2"], &["-g", "-O1", "-fno-omit-frame-pointer"]] {
        let stopped = Stopped::new(&dir.compile("locals.c", text, options));
        let frames = stopped.symbols.live(&stopped.registers, true, &stopped.memory);
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else { panic!("none") };
        let words = (first.frame.rsp..last.end).step_by(4);
        let names: Vec<String> = words
            .filter_map(|word| stopped.symbols.local(&frames, word, &stopped.memory))
            .filter(|name| !name.contains('+'))
            .collect();
        let wanted = [
            "serve::inner",
            "serve::served[0]",
            "serve::served[1]",
            "main::here.open",
            "main::here.tills[0]",
            "main::here.tills[1]",
        ];
        for name in wanted {
            let count = names.iter().filter(|found| *found == name).count();
            assert_eq!(count, 1, "{options:?}: {name} in {names:?}");
        }
    }
}

#[test]
fn every_object_has_a_name() {
    let dir = Dir::new();
    let text = "#include <stdlib.h>\nchar *volatile p; int main(void) {\n p = malloc(64);\n}\n";
    let (symbols, names) = open(&dir.compile("heap.c", text, &["-g"]));
    let main = site(&names, "main");
    // Any return address within the line is suitable.
    let site = (1..64).map(|step| Site { offset: main.offset + step, ..main });
    let site = site.clone().find(|&site| symbols.frames(site, false)[0].line == 3).unwrap();
    let heap = |offset, site| ObjectLocation::Heap { ordinal: 3, offset, size: 64, site };
    let cases = [
        (heap(8, Some(site)), "heap block #3 (64 bytes, heap.c:3)+0x8"),
        (heap(0, None), "heap block #3 (64 bytes)"),
        (ObjectLocation::Stack { task: TaskId(2), below: 0x40 }, "T2's stack -0x40"),
        (ObjectLocation::Task(TaskId(1)), "T1"),
        (ObjectLocation::Descriptor(3), "descriptor 3"),
        (ObjectLocation::Other(0), "mapped memory #0"),
        (ObjectLocation::Static(Site { module: 9, offset: 16 }), "static memory+0x10"),
    ];
    for (place, name) in cases {
        assert_eq!(symbols.object_name(&place), name);
    }
}

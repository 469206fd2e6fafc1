//! Names of variables and of objects.

use super::Dir;
use crate::symbols::Symbols;
use object::{Object, ObjectSymbol};
use std::path::Path;
use traces::{Module, Place, Site, TaskId};

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
    assert_eq!(symbols.variable(lock), Some(("lock".into(), 0)));
    let queue = site(&names, "queue");
    let inside = Site { offset: queue.offset + 0x18, ..queue };
    assert_eq!(symbols.variable(inside), Some(("queue".into(), 0x18)));
    assert_eq!(symbols.object_name(&Place::Static(inside)), "queue+0x18");
    assert_eq!(symbols.object_name(&Place::Static(lock)), "lock");
    let counter = symbols.variable(site(&names, "counter")).unwrap();
    assert!(counter.0.starts_with("counter"), "{counter:?}");
    let past = Site { offset: 1 << 40, ..lock };
    assert_eq!(symbols.variable(past), None);
    assert_eq!(symbols.object_name(&Place::Static(past)), "vars-c.out+0x10000000000");
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
    assert_eq!(symbols.variable(site(&names, "gate")).unwrap().0, "shop::Till::gate");
    assert_eq!(symbols.variable(site(&names, "once")).unwrap().0, "main::once");
    let text = r#"
use std::sync::Mutex;
static TILL: Mutex<Vec<u8>> = Mutex::new(Vec::new());
fn main() { TILL.lock().unwrap().push(1); println!("{:?}", TILL); }
"#;
    let (symbols, names) = open(&dir.compile("vars.rs", text, &[]));
    assert_eq!(symbols.variable(site(&names, "TILL")).unwrap().0, "vars::TILL");
}

#[test]
fn every_object_has_a_name() {
    let dir = Dir::new();
    let text = "#include <stdlib.h>\nchar *volatile p; int main(void) {\n p = malloc(64);\n}\n";
    let (symbols, names) = open(&dir.compile("heap.c", text, &["-g"]));
    let main = site(&names, "main");
    // Any return address within the line will do.
    let site = (1..64).map(|step| Site { offset: main.offset + step, ..main });
    let site = site.clone().find(|&site| symbols.frames(site, false)[0].line == 3).unwrap();
    let heap = |offset, site| Place::Heap { ordinal: 3, offset, size: 64, site };
    let cases = [
        (heap(8, Some(site)), "heap block #3 (64 bytes, heap.c:3)+0x8"),
        (heap(0, None), "heap block #3 (64 bytes)"),
        (Place::Stack { task: TaskId(2), below: 0x40 }, "T2's stack -0x40"),
        (Place::Task(TaskId(1)), "T1"),
        (Place::Descriptor(3), "descriptor 3"),
        (Place::Other(0), "mapped memory #0"),
        (Place::Static(Site { module: 9, offset: 16 }), "static memory+0x10"),
    ];
    for (place, name) in cases {
        assert_eq!(symbols.object_name(&place), name);
    }
}

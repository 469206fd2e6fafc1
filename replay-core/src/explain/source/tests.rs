//! Analyses small pieces of source.

use super::*;
use std::time::{Duration, SystemTime};
use traces::trace::Header;

const C: &str = "\
static pthread_mutex_t guard;
static int *take(struct queue *q)
{
\tpthread_mutex_lock(&guard);
\tif (q->len == 0 &&
\t    !q->closed) {
\t\tpthread_mutex_unlock(&guard);
\t\treturn NULL;
\t}
\tq->len -= 1;
\tint *item = q->items[q->len];
\tpthread_mutex_unlock(&guard);
\treturn item;
}
";

fn c() -> Source {
    Source::of(C.as_bytes(), Some(Language::C))
}

/// The column of a piece of text in a line.
fn column(source: &Source, line: u32, piece: &str) -> u32 {
    source.line(line).and_then(|text| text.find(piece)).expect("the line contains it") as u32 + 1
}

#[test]
fn statements_are_whole_and_heads_have_no_body() {
    let source = c();
    let at = |line, column| source.statement(line, column).unwrap_or_default();
    assert_eq!(at(4, 0), "pthread_mutex_lock(&guard);");
    assert_eq!(at(5, 0), "if (q->len == 0 && !q->closed)");
    assert_eq!(at(6, column(&source, 6, "closed")), "if (q->len == 0 && !q->closed)");
    assert_eq!(at(7, 0), "pthread_mutex_unlock(&guard);");
    assert_eq!(at(11, 0), "int *item = q->items[q->len];");
    assert_eq!(source.statement(99, 1), None);
    // A statement under `#ifdef` is a separate statement.
    let text = "void f(void)\n{\n#ifdef A\n    a();\n    b();\n#else\n    c();\n#endif\n}\n";
    let source = Source::of(text.as_bytes(), Some(Language::C));
    assert_eq!(source.statement(5, 0), Some("b();".into()));
    assert_eq!(source.statement(7, 0), Some("c();".into()));
    assert_eq!(source.statement(0, 0), None);
}

#[test]
fn the_function_around_a_line_is_found() {
    let function = c().function(10, 0).expect("a function");
    assert_eq!((function.name.as_str(), function.lines), ("take", 2..=14));
    assert_eq!(c().function(1, 0), None);
    let rust = "impl Queue {\n    fn take(&self) {\n        self.run(|| {\n            go();\n        });\n    }\n}\n";
    let rust = Source::of(rust.as_bytes(), Some(Language::Rust));
    assert_eq!(rust.function(3, 0).map(|f| f.name), Some("take".into()));
    assert_eq!(rust.function(4, 0).map(|f| f.name), Some("a closure".into()));
    let cpp = "void take() {\n    run([] {\n        go();\n    });\n}\n";
    let cpp = Source::of(cpp.as_bytes(), Some(Language::Cpp));
    assert_eq!(cpp.function(3, 0).map(|f| f.name), Some("a lambda".into()));
    let cpp = "void Queue::push(int v) {\n  items.push_back(v);\n}\n";
    let cpp = Source::of(cpp.as_bytes(), Some(Language::Cpp));
    assert_eq!(cpp.function(2, 0).map(|f| f.name), Some("Queue::push".into()));
}

#[test]
fn the_accessed_expression_is_found() {
    let source = c();
    let of =
        |line, piece: &str, writes| source.accessed(line, column(&source, line, piece), writes);
    assert_eq!(of(10, "-=", true), Some("q->len".into()));
    assert_eq!(of(5, "len", false), Some("q->len".into()));
    assert_eq!(of(11, "items", false), Some("q->items".into()));
    assert_eq!(
        source.accessed(11, column(&source, 11, "["), false),
        Some("q->items[q->len]".into())
    );
    assert_eq!(source.accessed(13, 2, true), None);
}

#[test]
fn the_object_of_a_call_is_its_receiver_or_first_argument() {
    let call =
        |source: &Source, line| source.call(line, 0).map(|call| (call.function, call.object));
    let of = |function: &str, object: &str| Some((function.to_owned(), object.to_owned()));
    assert_eq!(call(&c(), 4), of("pthread_mutex_lock", "guard"));
    let rust = "fn f() {\n    let mut queue = self.shared.queue.lock().unwrap();\n}\n";
    let rust = Source::of(rust.as_bytes(), Some(Language::Rust));
    let lock = rust.call(2, column(&rust, 2, "lock"));
    assert_eq!(lock.map(|c| (c.function, c.object)), of("lock", "self.shared.queue"));
}

#[test]
fn sections_reach_from_lock_to_unlock() {
    let section = |source: &Source, line| {
        source
            .section(line)
            .map(|section| (section.lock, *section.lines.start(), *section.lines.end()))
    };
    let of = |lock: &str, from, to| Some((lock.to_owned(), from, to));
    // An unlock before an early return does not end the section.
    assert_eq!(section(&c(), 10), of("guard", 4, 12));
    assert_eq!(section(&c(), 13), None);
    let cpp =
        "void f() {\n  {\n    std::lock_guard<std::mutex> hold(m);\n    n++;\n  }\n  n--;\n}\n";
    let cpp = Source::of(cpp.as_bytes(), Some(Language::Cpp));
    assert_eq!(section(&cpp, 4), of("m", 3, 5));
    assert_eq!(section(&cpp, 6), None);
    let rust = "fn f() {\n    let mut q = m.lock().unwrap();\n    q.push(1);\n    drop(q);\n    let n = *m.lock().unwrap();\n    g(n);\n}\n";
    let rust = Source::of(rust.as_bytes(), Some(Language::Rust));
    assert_eq!(section(&rust, 3), of("m", 2, 4));
    assert_eq!(section(&rust, 6), None);
}

#[test]
fn windows_line_ends_tabs_and_wide_characters_shift_nothing() {
    let text = "\u{feff}int f(void)\r\n{\r\n\t/* 数 */ n = \"日本\"; m++;\r\n}\r\n";
    let source = Source::of(text.as_bytes(), Some(Language::C));
    assert_eq!(source.len(), 4);
    assert_eq!(source.line(3), Some("\t/* 数 */ n = \"日本\"; m++;"));
    assert_eq!(source.line(5), None);
    let at = column(&source, 3, "m++");
    assert_eq!(source.statement(3, at), Some("m++;".into()));
    assert_eq!(source.accessed(3, at, true), Some("m".into()));
    // An incomplete character and invalid bytes.
    assert!(Source::of(b"int a\xff\xfe;\n\xe6", Some(Language::C)).line(2).is_some());
}

#[test]
fn colours_are_parts_of_the_line_and_never_overlap() {
    let source = c();
    let coloured = |line| {
        let text = source.line(line).expect("a line");
        let spans = source.colours(line);
        spans.into_iter().map(|span| (&text[span.range], span.colour)).collect::<Vec<_>>()
    };
    let mutex = coloured(4);
    assert!(mutex.contains(&("pthread_mutex_lock", Colour::Function)), "{mutex:?}");
    let branch = coloured(5);
    for part in [("if", Colour::Keyword), ("len", Colour::Field), ("0", Colour::Number)] {
        assert!(branch.contains(&part), "{part:?}: {branch:?}");
    }
    for language in [Language::Cpp, Language::Rust] {
        let text = "// note\nlet x = \"text\";\nclass A {};\n";
        let source = Source::of(text.as_bytes(), Some(language));
        let note = Span { range: 0..7, colour: Colour::Comment };
        assert_eq!(source.colours(1), [note], "{language:?}");
        for line in 1..4 {
            let spans = source.colours(line);
            assert!(spans.windows(2).all(|two| two[0].range.end <= two[1].range.start));
        }
    }
    assert_eq!(Source::of(b"some text\n", None).colours(1), []);
}

/// A block was called `load`, after the method that reads it.
#[test]
fn the_name_of_a_function_among_the_arguments_of_a_macro_is_no_variable() {
    let text = "fn f() {\n    assert_eq!(counter(3).load(x), total);\n}\n";
    let source = Source::of(text.as_bytes(), Some(Language::Rust));
    let at = |piece: &str| source.accessed(2, column(&source, 2, piece), false);
    assert_eq!((at("counter"), at("load"), at("total")), (None, None, Some("total".into())));
}

#[test]
fn a_file_is_read_once_and_compared_with_the_programs_age() {
    let place = tempfile::tempdir().expect("a directory");
    let (program, old, new) =
        (place.path().join("program"), place.path().join("old.c"), place.path().join("new.c"));
    let then = SystemTime::now() - Duration::from_secs(1000);
    for (path, age) in [(&old, 0), (&program, 10), (&new, 20)] {
        std::fs::write(path, "int a;\n").expect("a file");
        let file = std::fs::File::options().append(true).open(path).expect("the file");
        file.set_modified(then + Duration::from_secs(age)).expect("its time");
    }
    let header = Header {
        program: program.to_string_lossy().into_owned(),
        cwd: place.path().to_string_lossy().into_owned(),
        ..Header::default()
    };
    let mut sources = Sources::of(&header);
    assert_eq!(sources.get("").err(), Some(Missing::NoLines));
    assert_eq!(sources.get("gone.c").err(), Some(Missing::NoFile("gone.c".into())));
    assert!(!sources.get("old.c").expect("it is there").newer);
    assert!(sources.newer().is_empty());
    assert!(sources.get(&new.to_string_lossy()).expect("it is there").newer);
    assert_eq!(sources.newer(), [new.to_string_lossy()]);
}

#[test]
fn a_statement_is_inserted_where_it_runs_just_before_a_line() {
    use InsertionPoint::{Around, Before};
    let source = c();
    assert_eq!(source.insertion_point(4), Some(Before(4)));
    assert_eq!(source.insertion_point(5), Some(Before(5)));
    // The rest of the condition, and the end of the function behind `return`.
    assert_eq!(source.insertion_point(6), None);
    assert_eq!(source.insertion_point(14), None);
    let text = "void f(int *p)\n{\n  if (*p)\n    g(p);\n  else\n    for (;;)\n      h(1,\n        2);\n  \
                do {\n    i();\n  } while (*p);\n  switch (*p) {\n  case 1: j();\n    k();\n  }\n  int m =\n    \
                n();\n}\n";
    for language in [Language::C, Language::Cpp] {
        let source = Source::of(text.as_bytes(), Some(language));
        let found: Vec<_> = (3..=18).map(|line| source.insertion_point(line)).collect();
        let expected = [
            Some(Before(3)),
            Some(Around("g(p);".into())),
            None,
            None,
            None,
            None,
            Some(Before(9)),
            Some(Before(10)),
            Some(Before(11)),
            Some(Before(12)),
            None,
        ];
        assert_eq!(found[..11], expected, "{language:?}");
        assert_eq!(found[13..], [Some(Before(16)), Some(Before(16)), Some(Before(18))]);
    }
    let text = "void f(int *p)\n{\n  if (*p) {\n    g();\n  } else if (!*p) {\n    h();\n  }\n}\n";
    let source = Source::of(text.as_bytes(), Some(Language::C));
    assert_eq!(source.insertion_point(5), None);
    assert_eq!(source.insertion_point(7), Some(Before(7)));
    // A function on one line has no place for one.
    let source = Source::of(b"static void f(void) { g(); }\n", Some(Language::C));
    assert_eq!(source.insertion_point(1), None);
    let text = "//! Text.\n#![allow(x)]\nuse a;\nfn f() -> u32 {\n    let x =\n        g();\n    match x {\n        \
                1 => h(),\n        _ => {\n            i();\n        }\n    }\n    x\n}\nfn j() {\n    k();\n}\n";
    let source = Source::of(text.as_bytes(), Some(Language::Rust));
    let found: Vec<_> = (5..=17).map(|line| source.insertion_point(line)).collect();
    let before = |line| Some(Before(line));
    let expected = [
        before(5),
        before(5),
        before(7),
        None,
        None,
        before(10),
        before(11),
        None,
        before(13),
        None,
        None,
        before(16),
        before(17),
    ];
    assert_eq!(found, expected);
    assert_eq!(source.first_declaration(), Some(3));
    let source =
        Source::of(b"// Text.\n#define _GNU_SOURCE\n#include <a.h>\nint b;\n", Some(Language::C));
    assert_eq!(source.first_declaration(), Some(3));
    assert!(source.mentions("b", &(1..=4), true) && !source.mentions("b", &(1..=3), true));
    assert!(!source.mentions("Text", &(1..=4), false));
}

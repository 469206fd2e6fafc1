//! The program's own shared libraries are instrumented like the program.

use tests::debugging::compiled_text;
use tests::heddle::Home;
use traces::report::Verdict;

const LIBRARY: &str = "int total;\n\
    static int limit = 100;\n\
    void add(int much) {\n\
      int now = total;\n\
      if (now + much <= limit)\n\
        total = now + much;\n\
    }\n";
const PROGRAM: &str = "#include <assert.h>\n\
    #include <pthread.h>\n\
    extern int total;\n\
    void add(int);\n\
    static void *work(void *much) { add((int)(long)much); return 0; }\n\
    int main(void) {\n\
      pthread_t t;\n\
      pthread_create(&t, 0, work, (void *)1L);\n\
      add(2);\n\
      pthread_join(t, 0);\n\
      assert(total == 3);\n\
      return 0;\n\
    }\n";

#[test]
fn a_race_in_an_own_library_is_found_from_the_unmodified_binary() {
    let home = Home::new();
    let library = compiled_text(&home, "libtotal.so", LIBRARY, &["-O1", "-shared", "-fPIC"]);
    let here = format!("-Wl,-rpath,{}", home.path().display());
    let program = compiled_text(&home, "adds", PROGRAM, &["-O1", &library, &here]);
    let search = |strategy: &str, points: &str| {
        let args = ["explore", "--json", "--keep-going", "--strategy", strategy];
        let rest = ["--points", points, "--", &program];
        home.heddle(args.iter().chain(&rest)).report()
    };
    let report = search("dpor", "racy");
    assert_eq!(report.verdict, Verdict::Bug, "{report:#?}");
    assert!(report.complete && report.notes.is_empty(), "{report:#?}");
    assert!(report.points.racy > 0, "{report:#?}");
    let named = |one: &String| one.starts_with("total: ") && one.contains("libtotal.so.c:5");
    assert!(report.conflicts.iter().any(named), "{report:#?}");
    let trace = report.bugs[0].trace.clone().expect("a trace");
    assert_eq!(home.heddle(["replay", "--times", "20", &trace]).status, 1);
    let shown = home.heddle(["show", &trace]).stdout;
    assert!(shown.contains("libtotal.so.c:5") && shown.contains("total"), "{shown}");
    // Breakpoint probes have the same result.
    let broken = search("dpor", "racy:breakpoints");
    assert_eq!(report.distinct, broken.distinct, "{broken:#?}");
}

#[test]
fn a_library_loaded_later_is_reported_as_not_instrumented() {
    let home = Home::new();
    let library = compiled_text(&home, "libtotal.so", LIBRARY, &["-O1", "-shared", "-fPIC"]);
    let source = format!(
        "#include <dlfcn.h>\n#include <pthread.h>\nstatic void (*add)(int);\n\
        static void *work(void *a) {{ add(1); return a; }}\n\
        int main(void) {{ pthread_t t; add = (void (*)(int))dlsym(dlopen(\"{library}\", RTLD_NOW), \"add\");\n\
        pthread_create(&t, 0, work, 0); add(2); pthread_join(t, 0); return 0; }}\n"
    );
    let program = compiled_text(&home, "loads", &source, &["-O1"]);
    let report = home.heddle(["explore", "--json", "--strategy", "dfs", "--", &program]).report();
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(report.notes.iter().any(|note| note.contains("loads libraries")), "{report:#?}");
}

/// A program and a library, one of them instrumented by the compiler and the other by probes.
fn check_mixed(library: (&str, &[&str]), program: (&str, &[&str]), bug: bool) {
    check_instrumented(&[0, 1], library, program, bug);
}

/// The same where the compiler instruments the library (0), or the program (1).
fn check_instrumented(
    which: &[usize],
    library: (&str, &[&str]),
    program: (&str, &[&str]),
    bug: bool,
) {
    const TELLS: &str = "-fsanitize=thread";
    for &instrumented in which {
        let home = Home::new();
        let flags = |which: usize, more: &[&str]| -> Vec<String> {
            let own = ["-O1"].iter().chain(more).chain((which == instrumented).then_some(&TELLS));
            own.map(ToString::to_string).collect()
        };
        let compiled = |name: &str, text: &str, flags: &[String]| {
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            compiled_text(&home, name, text, &flags)
        };
        let made = compiled("libtotal.so", library.0, &flags(0, library.1));
        let here = format!("-Wl,-rpath,{},--allow-shlib-undefined", home.path().display());
        let program =
            compiled("adds", program.0, &[flags(1, program.1), vec![made, here]].concat());
        for strategy in ["random", "dpor"] {
            let args = ["explore", "--json", "--keep-going", "--strategy", strategy];
            let rest = ["--max-executions", "300", "--", &program];
            let report = home.heddle(args.iter().chain(&rest)).report();
            let said = (report.races.len(), report.notes.len(), report.bugs.len());
            assert_eq!(said, (0, 0, usize::from(bug)), "{instrumented} {strategy}: {report:#?}");
            assert_eq!(
                report.complete,
                strategy == "dpor",
                "{instrumented} {strategy}: {report:#?}"
            );
            assert!(!report.conflicts.is_empty(), "{instrumented} {strategy}: {report:#?}");
            if let Some(trace) = report.bugs.first().and_then(|bug| bug.trace.as_ref()) {
                let again = home.heddle(["replay", "--times", "20", trace]);
                assert_eq!(again.status, 1, "{instrumented} {strategy}: {again:?}");
            }
        }
    }
}

#[test]
fn accesses_shared_by_compiled_and_probed_modules_are_seen_from_both() {
    let library = "int total;\nvoid add(int much) { total += much; }\n";
    let program = "#include <assert.h>\n#include <pthread.h>\nextern int total;\nvoid add(int);\n\
        static void *work(void *a) { add(1); return a; }\n\
        int main(void) {\n pthread_t t;\n pthread_create(&t, 0, work, 0);\n total += 2;\n\
        pthread_join(t, 0);\n assert(total == 3);\n return 0;\n}\n";
    check_mixed((library, &["-shared", "-fPIC"]), (program, &[]), true);
}

#[test]
fn synchronization_in_one_kind_of_module_orders_accesses_in_the_other() {
    let library = "#include <stdatomic.h>\nstatic atomic_int flag;\nint given;\n\
        void give(void) { given = 7; atomic_store_explicit(&flag, 1, memory_order_release); }\n\
        int is_given(void) { return atomic_load_explicit(&flag, memory_order_acquire); }\n";
    let program = "#include <assert.h>\n#include <pthread.h>\n#include <sched.h>\n\
        extern int given;\nvoid give(void);\nint is_given(void);\nstatic int data;\n\
        static void *work(void *a) { data = 42; give(); return a; }\n\
        int main(void) {\n pthread_t t;\n pthread_create(&t, 0, work, 0);\n sched_yield();\n\
        if (is_given()) assert(data == 42 && given == 7);\n\
        pthread_join(t, 0);\n return 0;\n}\n";
    check_mixed((library, &["-shared", "-fPIC"]), (program, &[]), false);
}

#[test]
fn instrumented_code_can_pass_functions_of_the_c_library_to_probed_code() {
    let library = "#include <stddef.h>\n\
        size_t apply(size_t (*f)(const char *), const char *text) { return f(text); }\n";
    let program = "#include <assert.h>\n#include <pthread.h>\n#include <string.h>\n\
        size_t apply(size_t (*)(const char *), const char *);\n\
        static char text[16] = \"11\";\nstatic size_t length;\n\
        static void *work(void *a) { length = apply(strlen, text); return a; }\n\
        int main(void) {\n pthread_t t;\n pthread_create(&t, 0, work, 0);\n text[1] = 0;\n\
        pthread_join(t, 0);\n assert(length == 2);\n return 0;\n}\n";
    check_instrumented(&[1], (library, &["-shared", "-fPIC"]), (program, &[]), true);
}

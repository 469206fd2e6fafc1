//! Libraries of a program's own are looked at like the program itself.

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
fn a_race_in_a_library_of_the_programs_own_is_found_from_the_binary_as_it_is() {
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
    // Breakpoints come to the same.
    let broken = search("dpor", "racy:breakpoints");
    assert_eq!(report.distinct, broken.distinct, "{broken:#?}");
}

#[test]
fn a_library_that_is_loaded_later_is_said_to_be_out_of_sight() {
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

#[test]
fn a_library_as_it_is_under_a_program_that_tells_is_said_to_be_out_of_sight() {
    let home = Home::new();
    let library = compiled_text(&home, "libtotal.so", LIBRARY, &["-O1", "-shared", "-fPIC"]);
    let here = format!("-Wl,-rpath,{}", home.path().display());
    let flags = ["-O1", "-fsanitize=thread", &library, &here];
    let program = compiled_text(&home, "adds", PROGRAM, &flags);
    let report = home.heddle(["explore", "--json", "--strategy", "dfs", "--", &program]).report();
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(report.notes.iter().any(|note| note.contains("others were not")), "{report:#?}");
}

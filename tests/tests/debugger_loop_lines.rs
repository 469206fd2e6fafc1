//! `reverse-next` and `reverse-step` into a line that is a loop end where gdb's single steps end.

use tests::debugging::{compiled_text, expect, gdb_on};
use tests::heddle::Home;

/// Lines with loops; `n` is a small number.
const LOOPS: [&str; 10] = [
    "for (long i = 0; i < n; i++) sum += i;",
    "for (long i = 0; i < n; i++) { sum += i; sum ^= 3; }",
    "for (long i = 0; i < n; i++) add(i);",
    "for (long i = 0; i < 3; i++) for (long j = 0; j < 4; j++) sum += j;",
    "while (n-- > 0) sum += n;",
    "do sum += n; while (n-- > 0);",
    "if (n > 2) for (long i = 0; i < n; i++) sum += i; else sum = 5;",
    "for (long i = 0; i < n; i++) sum += again(i);",
    "for (long i = 0; i < n; i++) if (i & 1) continue; else sum += i;",
    "sum += 4;",
];

/// A program that executes each of them in a separate function, with the line behind each.
fn program() -> (String, Vec<usize>) {
    let mut text = String::from(
        "#include <pthread.h>\nstatic volatile long sum;\n\
         __attribute__((noipa)) void add(long i) { sum += i; }\n\
         __attribute__((noipa)) long again(long i) { if (i < 1) return 1;\n\
         long all = 0;\n\
         for (long k = 0; k < 2; k++) all += again(i - 2);\n\
         return all; }\n",
    );
    let mut behind = Vec::new();
    for (at, body) in LOOPS.iter().enumerate() {
        text.push_str(&format!("__attribute__((noipa)) void l{at}(long n) {{\nsum = 2;\n{body}\n"));
        behind.push(text.lines().count() + 1);
        text.push_str("sum += 1;\n}\n");
    }
    text.push_str("static void *run(void *x) {\n");
    for at in 0..LOOPS.len() {
        text.push_str(&format!("l{at}(6);\n"));
    }
    text.push_str(
        "return x; }\nint main(void) { pthread_t thread; pthread_create(&thread, 0, run, 0);\n\
         pthread_join(thread, 0); return 0; }\n",
    );
    (text, behind)
}

#[test]
fn a_line_with_a_loop_is_gone_back_through_as_by_single_steps() {
    let (text, behind) = program();
    for level in ["-O0", "-O1", "-O2"] {
        let home = Home::new();
        let path = compiled_text(&home, "lines", &text, &[level]);
        for command in ["reverse-next", "reverse-step"] {
            let answers = |by_steps: bool| {
                let mut commands = Vec::new();
                if by_steps {
                    let none = format!("python gdb.execute(\"define hook-{command}\\nend\")");
                    commands.push(none);
                }
                for line in &behind {
                    commands.push(format!("tbreak lines.c:{line}"));
                    commands.push("continue".to_owned());
                    commands.push(command.to_owned());
                    commands.push("printf \"%lx %lx %ld\\n\", $pc, $sp, sum".to_owned());
                }
                let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
                gdb_on(&home, &[&path], &commands)
            };
            let (fast, slow) = (answers(false), answers(true));
            assert_eq!(fast.stdout, slow.stdout, "{command} at {level}: {text}");
            assert!(fast.stdout.lines().count() > 3 * LOOPS.len(), "{fast:?}");
        }
    }
}

/// A million turns by single steps take hours.
#[test]
fn a_line_with_a_million_turns_is_one_step_back() {
    const TEXT: &str = "#include <pthread.h>
static volatile unsigned long sum;
static void *run(void *x)
{
    sum = 7;
    for (long i = 0; i < 1000000; i++) sum += i;
    sum += 1;
    return x;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return 0;
}
";
    let home = Home::new();
    let path = compiled_text(&home, "far", TEXT, &[]);
    let back = ["tbreak 7", "continue", "reverse-next", "print sum", "next", "print sum"];
    let run = gdb_on(&home, &[&path], &back);
    expect(&run, &["for (long i = 0", "$1 = 7", "sum += 1;", "$2 = 499999500007"]);
    // A breakpoint and watched memory within the line.
    let commands = ["tbreak 7", "continue", "watch sum", "reverse-next", "print sum"];
    let run = gdb_on(&home, &[&path], &commands);
    expect(&run, &["Old value = 499999500007", "New value = 499998500008"]);
}

//! Prints the slowdown of whole programs by race detection: `cargo run --release -p tests --example
//! detection_cost [PROGRAM...]`. Each is built with memory-access instrumentation and run under
//! many random schedules with `--points racy` and with `--points api`; the start of the search,
//! mostly learning, is subtracted. None of them has a race. Programs given as arguments, built with
//! `-fsanitize=thread`, are measured as well.

use tests::debugging::compiled_text;
use tests::heddle::Home;
use traces::report::Report;

/// The name and the source of each program; two tasks, and main.
const PROGRAMS: [(&str, &str); 6] = [
    ("sorts numbers in halves and merges them", SORT),
    ("multiplies matrices", MATRIX),
    ("puts words into a table of locked lists", TABLE),
    ("hands blocks on through a queue", QUEUE),
    ("packs and unpacks text", PACK),
    ("counts words by an atomic index of blocks", COUNT),
];

const HEAD: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *);
static void both(void) {
    pthread_t one, other;
    pthread_create(&one, 0, work, (void *)0L);
    pthread_create(&other, 0, work, (void *)1L);
    pthread_join(one, 0);
    pthread_join(other, 0);
}
static unsigned seed = 1;
static unsigned drawn(void) { return (seed = seed * 1103515245 + 12345) >> 8; }
"#;

const SORT: &str = r"
enum { LEN = 8192 };
static int numbers[LEN], room[LEN];
static void merge(int *from, int len, int *to) {
    int *one = from, *other = from + len / 2;
    for (int at = 0; at < len; at++)
        to[at] = other == from + len || (one < from + len / 2 && *one <= *other) ? *one++ : *other++;
    memcpy(from, to, len * sizeof *from);
}
static void sort(int *from, int len, int *to) {
    if (len < 2)
        return;
    sort(from, len / 2, to);
    sort(from + len / 2, len - len / 2, to);
    merge(from, len, to);
}
static void *work(void *half) {
    long at = (long)half * (LEN / 2);
    sort(numbers + at, LEN / 2, room + at);
    return 0;
}
int main(void) {
    for (int at = 0; at < LEN; at++)
        numbers[at] = drawn();
    both();
    merge(numbers, LEN, room);
    for (int at = 1; at < LEN; at++)
        if (numbers[at - 1] > numbers[at])
            abort();
    return 0;
}";

const MATRIX: &str = r"
enum { N = 64 };
static double a[N][N], b[N][N], c[N][N];
static void *work(void *half) {
    for (long row = (long)half * (N / 2), end = row + N / 2; row < end; row++)
        for (int column = 0; column < N; column++) {
            double sum = 0;
            for (int at = 0; at < N; at++)
                sum += a[row][at] * b[at][column];
            c[row][column] = sum;
        }
    return 0;
}
int main(void) {
    for (int at = 0; at < N * N; at++)
        a[0][at] = b[0][at] = at % 7;
    both();
    return c[N - 1][N - 1] < 0;
}";

const TABLE: &str = r#"
enum { LISTS = 64, WORDS = 1500 };
struct entry { struct entry *next; int count; char word[20]; };
static struct { pthread_mutex_t lock; struct entry *first; } table[LISTS];
static void *work(void *number) {
    for (int at = 0; at < WORDS; at++) {
        char word[20];
        int len = sprintf(word, "word %d", at * 7 % 400);
        unsigned hash = 5381;
        for (int byte = 0; byte < len; byte++)
            hash = hash * 33 + word[byte];
        pthread_mutex_lock(&table[hash % LISTS].lock);
        struct entry *entry = table[hash % LISTS].first;
        while (entry && strcmp(entry->word, word))
            entry = entry->next;
        if (!entry) {
            entry = calloc(1, sizeof *entry);
            strcpy(entry->word, word);
            entry->next = table[hash % LISTS].first;
            table[hash % LISTS].first = entry;
        }
        entry->count++;
        pthread_mutex_unlock(&table[hash % LISTS].lock);
    }
    return number;
}
int main(void) {
    for (int at = 0; at < LISTS; at++)
        pthread_mutex_init(&table[at].lock, 0);
    both();
    return 0;
}"#;

const QUEUE: &str = r"
enum { ROOM = 4, BLOCKS = 40, LEN = 512 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long blocks[ROOM][LEN], sum;
static int put, taken;
__attribute__((noinline)) static void fill(long *block, int at) {
    for (int word = 0; word < LEN; word++)
        block[word] = at + word;
}
__attribute__((noinline)) static void add(long *block) {
    for (int word = 0; word < LEN; word++)
        sum += block[word];
}
static void *work(void *takes) {
    for (int at = 0; at < BLOCKS; at++) {
        pthread_mutex_lock(&lock);
        while (takes ? taken == put : put - taken == ROOM)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        takes ? add(blocks[at % ROOM]) : fill(blocks[at % ROOM], at);
        pthread_mutex_lock(&lock);
        *(takes ? &taken : &put) += 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    both();
    return sum == 0;
}";

const PACK: &str = r#"
enum { LEN = 8192 };
static unsigned char text[2][LEN + 32], packed[2][2 * LEN], again[2][LEN];
static int last[2][4096];
static void *work(void *number) {
    long me = (long)number;
    int to = 0, from = 0;
    for (int at = 0; at < LEN;) {
        unsigned char *here = text[me] + at;
        int hash = (here[0] * 33 * 33 + here[1] * 33 + here[2]) & 4095, before = last[me][hash] - 1;
        last[me][hash] = at + 1;
        int len = 0;
        if (before >= 0 && at - before < 65536)
            while (len < 255 && at + len < LEN && text[me][before + len] == here[len])
                len++;
        packed[me][to++] = len > 3 ? len : 0;
        packed[me][to++] = len > 3 ? (at - before) & 255 : here[0];
        if (len > 3)
            packed[me][to++] = (at - before) >> 8;
        at += len > 3 ? len : 1;
    }
    for (int at = 0; at < to;) {
        int len = packed[me][at++], what = packed[me][at++];
        if (!len)
            again[me][from++] = what;
        else
            for (int back = what | packed[me][at++] << 8; len--; from++)
                again[me][from] = again[me][from - back];
    }
    if (memcmp(text[me], again[me], LEN))
        abort();
    return 0;
}
int main(void) {
    for (int me = 0; me < 2; me++)
        for (int at = 0, line = 0; at < LEN; line++)
            at += sprintf((char *)text[me] + at, "line %d of %d\n", line, line * line % 97);
    both();
    return 0;
}"#;

const COUNT: &str = r#"
enum { LEN = 32768, BLOCK = 2048 };
static char text[LEN + 64];
static int next;
static struct { long words, letters[128]; char apart[64]; } counts[2];
static void *work(void *number) {
    long me = (long)number;
    int from;
    while ((from = __atomic_fetch_add(&next, BLOCK, __ATOMIC_RELAXED)) < LEN)
        for (int at = from; at < from + BLOCK; at++) {
            counts[me].letters[text[at] & 127]++;
            counts[me].words += text[at] == ' ' || text[at] == '\n';
        }
    return 0;
}
int main(void) {
    for (int at = 0, line = 0; at < LEN; line++)
        at += sprintf(text + at, "line %d of %d\n", line, line * line % 97);
    both();
    return counts[0].words + counts[1].words == 0;
}"#;

/// How often each search is repeated: the minimum is printed.
const TIMES: usize = 4;

fn explore(home: &Home, points: &str, executions: u64, program: &str) -> Report {
    let number = executions.to_string();
    let always = ["--keep-going", "--workers", "1", "--max-steps", "10000000"];
    let options = ["--strategy", "random", "--points", points, "--max-executions", &number];
    home.explore(&[&always[..], &options].concat(), &[program])
}

fn main() {
    let home = Home::new();
    let own = PROGRAMS.iter().enumerate().map(|(number, (what, text))| {
        let flags = ["-O1", "-g", "-fsanitize=thread"];
        (*what, compiled_text(&home, &format!("whole{number}"), &format!("{HEAD}{text}"), &flags))
    });
    let named: Vec<String> = std::env::args().skip(1).collect();
    let programs = own.chain(named.iter().map(|path| (path.as_str(), path.clone())));
    println!("| a program that | without, ms | with, ms | ratio |");
    println!("| --- | --- | --- | --- |");
    for (what, program) in programs {
        // Enough executions for a measurable time.
        let first = explore(&home, "racy", 1, &program);
        let all = first.executions + first.checks;
        let many = (0.5 * all as f64 / first.elapsed_s) as u64 + 10;
        let least = |points: &str, executions: u64| {
            let all = (0..TIMES).map(|_| explore(&home, points, executions, &program));
            let less = |one: Report, other: Report| {
                if one.elapsed_s < other.elapsed_s { one } else { other }
            };
            all.reduce(less).expect("it was run")
        };
        let time = |points: &str| {
            let (few, lot) = (least(points, 2), least(points, many));
            assert!(lot.bugs.is_empty() && lot.races.is_empty(), "{lot:#?}");
            (lot.elapsed_s - few.elapsed_s) * 1000.0 / (lot.executions - few.executions) as f64
        };
        let (without, with) = (time("api"), time("racy"));
        println!("| {what} | {without:.2} | {with:.2} | {:.1} |", with / without);
    }
}

//! Generated functions as one C++ program. Its argument selects the function, and it creates its files in the
//! working directory.

use super::meaning::{FILE_SIZE, FILE_TEXT};
use super::{Call, Family, Function, Statement};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The exit status of an outcome that the enumeration does not have.
pub const UNKNOWN: u32 = 255;

const BEGINNING: &str = r#"
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define NOTHING 255
alignas(64) static char text[24] = "0000000";
static std::atomic<int> integers[2];
static int pipe_ends[2], file, event, sources[3], own[3][2];
alignas(8) static char tokens[] = "1,2,3,4";
static char names[2][PATH_MAX];
static std::list<int> numbers;
static std::map<int, int> entries;
static std::string letters;
static std::mutex containers;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t observed[3];
// The headers declare some functions as pure: without this, the compiler makes one call of two.
static void forget() { __asm__ volatile("" ::: "memory"); }
static uint64_t combine(uint64_t before, uint64_t value) {
    return (before ^ value) * 0x100000001b3 + 1;
}
static uint64_t word(const char *at) {
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}
static const char *digits(int value) {
    static const char all[4][17] = {
        "0000000000000000", "1111111111111111", "2222222222222222", "3333333333333333"};
    return all[value];
}
static const char *short_string(int value) { return digits(value) + 9; }
static const char *long_string(int value) { return digits(value) + 1; }
static uint64_t fill(int value) { memset(text, '0' + value, 16); return 0; }
static uint64_t copy_in(int value) { memcpy(text, digits(value), 16); return 0; }
static uint64_t copy_short(int value) { strcpy(text, short_string(value)); return 0; }
static uint64_t copy_long(int value) { strcpy(text, long_string(value)); return 0; }
static uint64_t copy_padded(int value) { strncpy(text, short_string(value), 16); return 0; }
static uint64_t print(int value) { return snprintf(text, 8, "%d", 1111111 * value); }
static uint64_t move() { memmove(text + 8, text, 8); return 0; }
__attribute__((noinline)) static uint64_t parse() { return strtol(text, nullptr, 10); }
static char *(*volatile last_of)(char *, int) = strrchr;
static uint64_t last_digit(int value) {
    char *found = last_of(text, '0' + value);
    return found ? found - text : NOTHING;
}
static uint64_t copy_out() {
    alignas(16) char copy[16];
    memcpy(copy, text, 16);
    return combine(word(copy), word(copy + 8));
}
static uint64_t length() {
    forget();
    return strlen(text);
}
static uint64_t compare(int value) {
    forget();
    int order = memcmp(text, digits(value), 16);
    return (uint8_t)(order < 0 ? -1 : order > 0);
}
static uint64_t compare_start(int value) {
    forget();
    int order = strncmp(text, digits(value), 12);
    return (uint8_t)(order < 0 ? -1 : order > 0);
}
static uint64_t read_in(int thread) { return pread(sources[thread], text, 8, 0); }
static uint64_t write_out(int thread) {
    uint64_t copy = 0;
    if (write(own[thread][1], text, 8) != 8 || read(own[thread][0], &copy, 8) != 8) return NOTHING;
    return copy;
}
static uint64_t replace(int which, int from, int to) {
    return integers[which].compare_exchange_strong(from, to);
}
static uint64_t write_byte(int to, int value) {
    char byte = value;
    return write(to, &byte, 1);
}
static uint64_t read_byte(int from) {
    unsigned char byte;
    return read(from, &byte, 1) == 1 ? byte : NOTHING;
}
static uint64_t write_at(int at, int value) {
    char byte = value;
    return pwrite(file, &byte, 1, at);
}
static uint64_t read_at(int at) {
    unsigned char byte;
    return pread(file, &byte, 1, at) == 1 ? byte : NOTHING;
}
static uint64_t file_size() {
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_size : NOTHING;
}
static uint64_t set_variable(int value) {
    const char text[] = {(char)('0' + value), 0};
    return setenv("ORACLE", text, 1);
}
static uint64_t get_variable() {
    const char *value = getenv("ORACLE");
    return value ? *value - '0' : NOTHING;
}
static uint64_t next_token() {
    const char *token = strtok(nullptr, ",");
    return token ? *token - '0' : NOTHING;
}
static uint64_t directory() {
    char path[PATH_MAX];
    return getcwd(path, sizeof path) ? strlen(path) > 1 : NOTHING;
}
static uint64_t event_add(uint64_t value) { return write(event, &value, 8); }
static uint64_t event_take() {
    uint64_t value;
    return read(event, &value, 8) == 8 ? value : NOTHING;
}
static uint64_t create(int which) {
    int opened = open(names[which], O_CREAT | O_EXCL | O_WRONLY, 0600);
    return opened >= 0;
}
static uint64_t list_push(int value) {
    std::lock_guard<std::mutex> guard(containers);
    numbers.push_back(value);
    return 0;
}
static uint64_t list_pop() {
    std::lock_guard<std::mutex> guard(containers);
    if (numbers.empty()) return 0;
    int first = numbers.front();
    numbers.pop_front();
    return first;
}
static uint64_t map_set(int key, int value) {
    std::lock_guard<std::mutex> guard(containers);
    entries[key] = value;
    return 0;
}
static uint64_t map_below(int key) {
    std::lock_guard<std::mutex> guard(containers);
    return std::distance(entries.begin(), entries.lower_bound(key));
}
static uint64_t append(int value) {
    std::lock_guard<std::mutex> guard(containers);
    letters.push_back(value);
    return 0;
}
static uint64_t find(int value) {
    std::lock_guard<std::mutex> guard(containers);
    size_t at = letters.find((char)value);
    return at == std::string::npos ? NOTHING : at;
}
static void begin() {
    // Heddle gives each execution its own copy of the working directory.
    char directory[PATH_MAX - 8];
    for (int i = 0; i < 3; i++) {
        sources[i] = memfd_create("source", 0);
        if (write(sources[i], FILE_TEXT, 8) != 8 || pipe(own[i]) != 0) abort();
    }
    if (pipe2(pipe_ends, O_NONBLOCK) != 0) abort();
    file = memfd_create("file", 0);
    event = eventfd(0, EFD_NONBLOCK);
    if (!getcwd(directory, sizeof directory)) abort();
    if (ftruncate(file, FILE_SIZE) != 0 || chdir("/") != 0) abort();
    umask(0);
    setenv("ORACLE", "0", 1);
    strtok(tokens, ",");
    for (int i = 0; i < 2; i++) snprintf(names[i], PATH_MAX, "%s/%d", directory, i);
}
"#;

const END: &str = r#"
int main(int argc, char **argv) {
    if (argc < 2) return UNKNOWN;
    const struct function *function = &functions[atoi(argv[1])];
    begin();
    pthread_t threads[3];
    int count = 0;
    for (; count < 3 && function->threads[count]; count++)
        pthread_create(&threads[count], nullptr, function->threads[count], nullptr);
    for (int i = 0; i < count; i++) pthread_join(threads[i], nullptr);
    uint64_t outcome = 0;
    for (int i = 0; i < count; i++) outcome = combine(outcome, observed[i]);
    outcome = function->left(outcome);
    for (int i = 0; function->outcomes[i]; i++)
        if (function->outcomes[i] == outcome) return i + 1;
    return UNKNOWN;
}
"#;

/// The C++ expression of a call by this thread.
fn expression(call: Call, thread: usize) -> String {
    match call {
        Call::Fill(value) => format!("fill({value})"),
        Call::CopyIn(value) => format!("copy_in({value})"),
        Call::ShortString(value) => format!("copy_short({value})"),
        Call::LongString(value) => format!("copy_long({value})"),
        Call::Padded(value) => format!("copy_padded({value})"),
        Call::CompareStart(value) => format!("compare_start({value})"),
        Call::LastDigit(value) => format!("last_digit({value})"),
        Call::Print(value) => format!("print({value})"),
        Call::Move => "move()".into(),
        Call::Length => "length()".into(),
        Call::Parse => "parse()".into(),
        Call::CopyOut => "copy_out()".into(),
        Call::Compare(value) => format!("compare({value})"),
        Call::ReadIn => format!("read_in({thread})"),
        Call::WriteOut => format!("write_out({thread})"),
        Call::Add(which, value) => format!("integers[{which}].fetch_add({value})"),
        Call::Swap(which, value) => format!("integers[{which}].exchange({value})"),
        Call::Replace(which, from, to) => format!("replace({which}, {from}, {to})"),
        Call::PipeWrite(value) => format!("write_byte(pipe_ends[1], {value})"),
        Call::PipeRead => "read_byte(pipe_ends[0])".into(),
        Call::FileWrite(value) => format!("write_byte(file, {value})"),
        Call::FileRead => "read_byte(file)".into(),
        Call::FileSeek(to) => format!("lseek(file, {to}, SEEK_SET)"),
        Call::FileWriteAt(at, value) => format!("write_at({at}, {value})"),
        Call::FileReadAt(at) => format!("read_at({at})"),
        Call::FileSize => "file_size()".into(),
        Call::FileTruncate(size) => format!("ftruncate(file, {size})"),
        Call::SetVariable(value) => format!("set_variable({value})"),
        Call::GetVariable => "get_variable()".into(),
        Call::NextToken => "next_token()".into(),
        Call::Mask(mask) => format!("umask({mask})"),
        Call::ChangeDirectory(to) => {
            format!("chdir({})", if to == 0 { "\"/\"" } else { "\"/usr\"" })
        }
        Call::Directory => "directory()".into(),
        Call::EventAdd(value) => format!("event_add({value})"),
        Call::EventTake => "event_take()".into(),
        Call::Create(which) => format!("create({which})"),
        Call::Remove(which) => format!("unlink(names[{which}]) == 0"),
        Call::Exists(which) => format!("access(names[{which}], F_OK) == 0"),
        Call::Rename => "rename(names[0], names[1]) == 0".into(),
        Call::ListPush(value) => format!("list_push({value})"),
        Call::ListPop => "list_pop()".into(),
        Call::MapSet(key, value) => format!("map_set({key}, {value})"),
        Call::MapBelow(key) => format!("map_below({key})"),
        Call::Append(value) => format!("append({value})"),
        Call::Find(value) => format!("find({value})"),
        Call::Sleep => "sleep(2)".into(),
    }
}

fn statement(statement: Statement, thread: usize) -> String {
    if statement.call == Call::Sleep {
        return "    sleep(2);\n".into();
    }
    let line = format!("    o = combine(o, {});\n", expression(statement.call, thread));
    if statement.locked {
        return format!(
            "    pthread_mutex_lock(&mutex);\n{line}    pthread_mutex_unlock(&mutex);\n"
        );
    }
    line
}

/// The statements that observe what is left of a family at the end.
fn remainder(family: Family) -> &'static str {
    match family {
        Family::Text => "o = combine(combine(o, word(text)), word(text + 8));",
        Family::Atomics => "o = combine(combine(o, integers[0]), integers[1]);",
        Family::Pipe => {
            "for (uint64_t byte = 0; byte != NOTHING;) o = combine(o, byte = read_byte(pipe_ends[0]));"
        }
        Family::File => {
            "for (int at = 0; at < 4; at++) o = combine(o, read_at(at));\n    \
             o = combine(o, lseek(file, 0, SEEK_CUR));"
        }
        Family::Environment => "o = combine(o, get_variable());",
        Family::Tokens => "o = combine(o, next_token());",
        Family::Process => "o = combine(o, umask(0));\n    o = combine(o, directory());",
        Family::Events => "o = combine(o, event_take());",
        Family::Names => {
            "for (int i = 0; i < 2; i++) o = combine(o, access(names[i], F_OK) == 0);\n    \
             for (int i = 0; i < 2; i++) unlink(names[i]);"
        }
        Family::Containers => {
            "for (int number : numbers) o = combine(o, number);\n    o = combine(o, 0);\n    \
             for (auto entry : entries) o = combine(o, entry.second);\n    o = combine(o, 0);\n    \
             for (char letter : letters) o = combine(o, letter);"
        }
    }
}

/// The program of these functions, each with its outcomes: the exit status is the index of the outcome
/// plus one.
#[must_use]
pub fn text(functions: &[(Function, BTreeSet<u64>)]) -> String {
    let mut text = BEGINNING
        .replace("FILE_TEXT", &format!("{FILE_TEXT:?}"))
        .replace("FILE_SIZE", &FILE_SIZE.to_string());
    let mut table = String::new();
    for (number, (function, outcomes)) in functions.iter().enumerate() {
        let mut names = Vec::new();
        for (thread, statements) in function.threads.iter().enumerate() {
            let name = format!("f{number}_{thread}");
            let lines: String = statements.iter().map(|&one| statement(one, thread)).collect();
            let _ = write!(
                text,
                "static void *{name}(void *) {{\n    uint64_t o = 0;\n{lines}    \
                 observed[{thread}] = o;\n    return nullptr;\n}}\n"
            );
            names.push(name);
        }
        let lines: Vec<&str> = function.families.iter().map(|&family| remainder(family)).collect();
        let all: Vec<String> = outcomes.iter().map(|outcome| format!("{outcome}u")).collect();
        let _ = write!(
            text,
            "static uint64_t left{number}(uint64_t o) {{\n    {}\n    return o;\n}}\n\
             static const uint64_t outcomes{number}[] = {{{}, 0}};\n",
            lines.join("\n    "),
            all.join(", "),
        );
        let _ =
            writeln!(table, "    {{{{{}}}, left{number}, outcomes{number}}},", names.join(", "));
    }
    let _ = write!(
        text,
        "struct function {{\n    void *(*threads[3])(void *);\n    uint64_t (*left)(uint64_t);\n    \
         const uint64_t *outcomes;\n}};\nstatic const struct function functions[] = {{\n{table}}};\n"
    );
    text + &END.replace("UNKNOWN", &UNKNOWN.to_string())
}

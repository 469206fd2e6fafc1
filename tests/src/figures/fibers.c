// How fast this machine runs a bare random walk over fibers: the unit of the rates that
// docs/figures.md asks for. Two fibers increment a counter five times each, with a scheduling point
// at every lock and unlock; a third one waits for both, as main does. After each walk the memory
// that the program changed is copied back. There is no record, no strategy, no report: nothing of
// Heddle is in it, so a change of Heddle does not change the unit.
//
// Prints microseconds for a walk, the least of several measurements.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIBERS = 3, ROUNDS = 5, ROOM = 1 << 14, PAGES = 8, PAGE = 4096, WALKS = 20000, TIMES = 15 };

struct fiber {
    void *top;       // where its registers are saved
    int at_lock;     // it waits for the lock, which another one may hold
    int at_join;     // how many others must have ended before it continues
    int ended;
};

static struct fiber fibers[FIBERS], outside;
static _Alignas(64) char stacks[FIBERS][ROOM];
static char program[PAGES][PAGE], copies[PAGES][PAGE];
static int running, held, counter, ends;
static uint64_t drawn = 1;
static uintptr_t thread_pointer;

// Saves the callee-saved registers on one stack, and loads those of another.
void change(void **save, void *load);
__asm__(".text\nchange:\n"
        "pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n");

static void go(struct fiber *from, struct fiber *to) {
    // Each thread has another pointer, so a switch between them sets it.
    __asm__ volatile("wrfsbase %0" : : "r"(thread_pointer) : "memory");
    change(&from->top, to->top);
}

static int may_run(const struct fiber *fiber) {
    return !fiber->ended && !(fiber->at_lock && held) && ends >= fiber->at_join;
}

// A scheduling point: a fiber that may run, each with the same probability.
static void point(void) {
    int ready[FIBERS], count = 0, before = running;
    for (int each = 0; each < FIBERS; each++)
        if (may_run(&fibers[each]))
            ready[count++] = each;
    if (!count) {
        go(&fibers[before], &outside);
        return;
    }
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    running = ready[(drawn >> 33) % count];
    if (running != before)
        go(&fibers[before], &fibers[running]);
}

static void take(void) {
    fibers[running].at_lock = 1;
    point();
    fibers[running].at_lock = 0;
    held = 1;
}

static void release(void) {
    held = 0;
    point();
}

static void body(void) {
    int me = running;
    if (me == 0) {
        for (int others = 1; others < FIBERS; others++) {
            fibers[0].at_join = others;
            point();
        }
    } else {
        for (int round = 0; round < ROUNDS; round++) {
            take();
            int seen = counter;
            release();
            take();
            counter = seen + 1;
            release();
        }
    }
    fibers[me].ended = 1;
    ends += me != 0;
    for (;;)
        point();
}

static void begin(int number) {
    uint64_t *top = (uint64_t *)(stacks[number] + ROOM - 128);
    *--top = 0;
    *--top = (uintptr_t)body;
    for (int saved = 0; saved < 6; saved++)
        *--top = 0;
    fibers[number] = (struct fiber){.top = top};
}

static int walk(void) {
    held = counter = ends = running = 0;
    for (int each = 0; each < FIBERS; each++)
        begin(each);
    go(&outside, &fibers[0]);
    for (int page = 0; page < PAGES; page++)
        memcpy(program[page], copies[page], PAGE);
    return counter != (FIBERS - 1) * ROUNDS;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

int main(void) {
    __asm__ volatile("rdfsbase %0" : "=r"(thread_pointer));
    double least = 1e9;
    int lost = 0;
    for (int time = 0; time < TIMES; time++) {
        double began = now();
        for (int each = 0; each < WALKS; each++)
            lost += walk();
        double took = (now() - began) / WALKS;
        least = took < least ? took : least;
    }
    // Nearly every walk loses an update: the fibers do meet.
    if (lost < TIMES * WALKS / 2)
        return 1;
    printf("%.4f\n", least);
    return 0;
}

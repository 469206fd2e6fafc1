/* Code that a program executes late or never. Each function is in a separate page.

   calls N    two threads call the first N of 64 functions
   rare       a thread calls a function only in some schedules, and its update of `total` may be lost
   handler    a handler of SIGSEGV sees a call of data, and no call of code
   straddles  two threads execute an instruction that lies in two pages */
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PAGE __attribute__((noinline, aligned(4096)))
#define FOUR(each, n) each(n##0) each(n##1) each(n##2) each(n##3)
#define SIXTEEN(each, n) FOUR(each, n##0) FOUR(each, n##1) FOUR(each, n##2) FOUR(each, n##3)
#define ALL(each) SIXTEEN(each, 0) SIXTEEN(each, 1) SIXTEEN(each, 2) SIXTEEN(each, 3)

#define DEFINE(n)                                                                                  \
    static volatile int count_##n;                                                                 \
    PAGE static void add_##n(void) { count_##n = count_##n + 1; }
ALL(DEFINE)

#define NAME(n) add_##n,
static void (*const all[])(void) = {ALL(NAME)};

static int calls;
static volatile int is_ready, was_late, total;

static void *call_some(void *unused) {
    for (int at = 0; at < calls; at++)
        all[at]();
    return unused;
}

PAGE static void add_late(void) { total = total + 1; }

static void *add_if_ready(void *unused) {
    if (is_ready) {
        was_late = 1;
        add_late();
    }
    return unused;
}

static sigjmp_buf behind;
static volatile int faults;

static void on_fault(int signal) {
    (void)signal;
    faults++;
    siglongjmp(behind, 1);
}

/* The store of four bytes begins two bytes before the second page. */
void store_in_two_pages(void);
volatile int stored;
__asm__(".pushsection .text\n"
        ".p2align 12\n"
        ".skip 4094\n"
        ".globl store_in_two_pages\n"
        ".type store_in_two_pages, @function\n"
        "store_in_two_pages:\n"
        ".cfi_startproc\n"
        "addl $1, stored(%rip)\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size store_in_two_pages, . - store_in_two_pages\n"
        ".popsection\n");

static void *store(void *unused) {
    store_in_two_pages();
    return unused;
}

static void two(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static void *make_ready(void *unused) {
    is_ready = 1;
    total = total + 1;
    return unused;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "calls")) {
        calls = atoi(argv[2]);
        two(call_some, call_some);
    } else if (!strcmp(mode, "rare")) {
        two(add_if_ready, make_ready);
        assert(total == 1 + was_late);
    } else if (!strcmp(mode, "handler")) {
        static char data[] = {(char)0xc3};
        signal(SIGSEGV, on_fault);
        if (!sigsetjmp(behind, 1))
            ((void (*)(void))(void *)data)();
        all[0]();
        assert(faults == 1);
    } else if (!strcmp(mode, "straddles")) {
        two(store, store);
        assert(stored == 2);
    }
    return 0;
}

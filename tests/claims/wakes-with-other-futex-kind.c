#include <linux/futex.h>

#include "two_threads.h"

static volatile int word;

static void *wait_for_one(void *unused) {
    while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0);
    return unused;
}

static void *store_one(void *unused) {
    word = 1;
    // The kernel finds no private wait by a call without the private flag.
    syscall(SYS_futex, &word, FUTEX_WAKE, 1);
    return unused;
}

int main(void) { go(wait_for_one, store_one); }

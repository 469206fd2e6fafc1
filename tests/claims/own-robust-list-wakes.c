#include "two_threads.h"
#include <linux/futex.h>
#include <stddef.h>

static struct robust_list_head list;
struct lock {
    struct robust_list entry;
    int word;
};

static struct lock lock;
static int is_taken;

static void *end_with_lock(void *unused) {
    list.list.next = &lock.entry;
    lock.entry.next = &list.list;
    list.futex_offset = offsetof(struct lock, word) - offsetof(struct lock, entry);
    assert(syscall(SYS_set_robust_list, &list, sizeof list) == 0);
    __atomic_store_n(&lock.word, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    __atomic_store_n(&is_taken, 1, __ATOMIC_SEQ_CST);
    return unused;
}

// Waits until the owner has ended.
static void *wait_for_end(void *unused) {
    while (!__atomic_load_n(&is_taken, __ATOMIC_SEQ_CST)) sched_yield();
    for (;;) {
        int word = __atomic_fetch_or(&lock.word, FUTEX_WAITERS, __ATOMIC_SEQ_CST) | FUTEX_WAITERS;
        if (word & FUTEX_OWNER_DIED) return unused;
        syscall(SYS_futex, &lock.word, FUTEX_WAIT, word, 0, 0, 0);
    }
}

int main(void) {
    go(end_with_lock, wait_for_end);
    assert((lock.word & FUTEX_TID_MASK) == 0);
}

#include "two_threads.h"
#include <linux/futex.h>
#include <stddef.h>

static struct robust_list_head list;
struct lock {
    struct robust_list entry;
    int word;
};

static struct lock lock;

// Ends while it holds a lock that is in its own list of robust futexes.
static void *end_with_lock(void *unused) {
    list.list.next = &lock.entry;
    lock.entry.next = &list.list;
    list.futex_offset = offsetof(struct lock, word) - offsetof(struct lock, entry);
    assert(syscall(SYS_set_robust_list, &list, sizeof list) == 0);
    __atomic_store_n(&lock.word, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    return unused;
}

static void *look(void *unused) {
    assert(!(__atomic_load_n(&lock.word, __ATOMIC_SEQ_CST) & FUTEX_OWNER_DIED));
    return unused;
}

int main(void) {
    go(end_with_lock, look);
}

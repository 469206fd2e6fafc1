/* Two locks of the program itself, each a word with a futex. The argument selects the failure. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int first, second;

static void sleep_while(atomic_int *word, int value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_one(atomic_int *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#ifdef SUBTRACTS
/* Drepper, Futexes Are Tricky, mutex 2. */
static void acquire(atomic_int *word)
{
    int seen = 0;
    if (atomic_compare_exchange_strong(word, &seen, 1))
        return;
    do {
        int one = 1;
        if (seen == 2 || atomic_compare_exchange_strong(word, &one, 2) || one != 0)
            sleep_while(word, 2);
        seen = 0;
    } while (!atomic_compare_exchange_strong(word, &seen, 2));
}

static void release(atomic_int *word)
{
    if (atomic_fetch_sub(word, 1) != 1) {
        atomic_store_explicit(word, 0, memory_order_release);
        wake_one(word);
    }
}
#else
static void acquire(atomic_int *word)
{
    int seen = 0;
    while (!atomic_compare_exchange_strong(word, &seen, 7)) {
        sleep_while(word, 7);
        seen = 0;
    }
}

static void release(atomic_int *word)
{
    atomic_store_explicit(word, 0, memory_order_release);
    wake_one(word);
}
#endif

static void *cycle(void *unused)
{
    acquire(&second);
    acquire(&first);
    release(&first);
    release(&second);
    return unused;
}

static void *forget(void *unused)
{
    acquire(&first);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int forgets = argc > 1 && strcmp(argv[1], "forget") == 0;
    pthread_create(&thread, NULL, forgets ? forget : cycle, NULL);
    acquire(&first);
    if (!forgets) {
        acquire(&second);
        release(&second);
    }
    release(&first);
    pthread_join(thread, NULL);
    return 0;
}

/* Every execution ends in the same way: END says how. Before, two threads use a lock. */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PASSES, ASSERTS, ABORTS, CRASHES, EXITS, EXITS_AT_ONCE, DEADLOCKS, WAITS, SPINS, MISUSES,
    JOINS_TWICE, OVERFLOWS, FREES_TWICE, LEAVES_HELD, POLLS
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int never;
static int fds[2];

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *polls(void *unused)
{
    struct pollfd both[2] = {{fds[0], POLLIN, 0}, {fds[0], POLLIN, 0}};
    poll(both, 2, -1);
    return unused;
}

__attribute__((noinline)) static void end(pthread_t thread)
{
    char *block = malloc(16);
    switch (END) {
    case ASSERTS: assert(never);
    case ABORTS: abort();
    case CRASHES: *(volatile int *)8 = 1; break;
    case EXITS: exit(3);
    case EXITS_AT_ONCE: _exit(3);
    case DEADLOCKS: pthread_mutex_lock(&lock); pthread_mutex_lock(&lock); break;
    case WAITS: pthread_mutex_lock(&lock); pthread_cond_wait(&changed, &lock); break;
    case SPINS: while (!never) sched_yield(); break;
    case MISUSES: pthread_mutex_unlock(&other); break;
    case JOINS_TWICE: pthread_join(thread, 0); break;
    case OVERFLOWS: memset(block, 1, (size_t)(24 + never)); break;
    case FREES_TWICE: free(block); break;
    case LEAVES_HELD: pthread_mutex_lock(&other); pthread_exit(0);
    case POLLS: {
        pthread_t waiting;
        pipe(fds);
        pthread_create(&waiting, 0, polls, 0);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        exit(0);
    }
    default: break;
    }
    free(block);
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    end(threads[0]);
    return 0;
}

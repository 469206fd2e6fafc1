// main looks at a variable on its stack under a lock, until a thread has set it. The thread also writes next
// to it, without the lock and before it.
#include <assert.h>
#include <pthread.h>
#include <sched.h>

struct state {
    pthread_mutex_t lock;
    int done, other;
};

static void *set(void *argument) {
    struct state *state = argument;
    state->other = 1;
    pthread_mutex_lock(&state->lock);
    state->done = 1;
    pthread_mutex_unlock(&state->lock);
    return 0;
}

int main(void) {
    struct state state = {PTHREAD_MUTEX_INITIALIZER, 0, 0};
    pthread_t thread;
    pthread_create(&thread, 0, set, &state);
    for (;;) {
        pthread_mutex_lock(&state.lock);
        int done = state.done;
        pthread_mutex_unlock(&state.lock);
        if (done) break;
        sched_yield();
    }
    assert(state.other == 1);
    pthread_join(thread, 0);
    return 0;
}

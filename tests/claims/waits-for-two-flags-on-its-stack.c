// main sleeps until each of two threads has set its flag. The flags, and a result, are on main's stack.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct state {
    atomic_int first, second;
    int result;
};

static void *one(void *argument) {
    struct state *state = argument;
    state->result = 7;
    atomic_store(&state->first, 1);
    return 0;
}

static void *two(void *argument) {
    struct state *state = argument;
    atomic_store(&state->second, 1);
    return 0;
}

int main(void) {
    struct state state = {0};
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, &state);
    pthread_create(&threads[1], 0, two, &state);
    while (!atomic_load(&state.first)) usleep(100);
    while (!atomic_load(&state.second)) usleep(100);
    assert(state.result == 7);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

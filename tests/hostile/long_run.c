// Executions of many steps: "counts N" makes progress in each ("counts N fails" also fails), "polls" and "polls-lock" wait for what
// never happens and count their attempts on the stack.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static atomic_int done;
static int ready;

static void *counts(void *rounds) {
    for (long i = 0; i < (long)rounds; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *polls(void *unused) {
    volatile long attempts = 0;
    while (!atomic_load(&done)) {
        attempts++;
        sched_yield();
    }
    return unused;
}

static void *polls_under_lock(void *unused) {
    volatile long attempts = 0;
    int is_ready = 0;
    while (!is_ready) {
        attempts++;
        pthread_mutex_lock(&mutex);
        is_ready = ready;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    long rounds = argc > 2 ? atol(argv[2]) : 0;
    int counting = strcmp(argv[1], "counts") == 0;
    void *(*body)(void *) = counting ? counts : strcmp(argv[1], "polls") == 0 ? polls : polls_under_lock;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, body, (void *)rounds);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return argc > 3 || (counting && counter != 2 * rounds);
}

// The same, where the thread reads and writes the variable by separate instructions.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
static volatile int count, handled;
static void handler(int n) {
    count++;
    handled++;
}
static void *worker(void *u) {
    int seen = count;
    __asm__ volatile("" : "+r"(seen));
    count = seen + 1;
    return u;
}
int main(void) {
    pthread_t a;
    signal(SIGUSR1, handler);
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    assert(count == 1 + handled);
    return 0;
}

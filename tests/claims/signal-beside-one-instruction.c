// The thread and its handler increase a variable by one instruction, which no signal of the thread divides.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
static int count;
static volatile int handled;
static void handler(int n) {
    count++;
    handled++;
}
static void *worker(void *u) {
    __asm__ volatile("incl %0" : "+m"(count) : : "memory", "cc");
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

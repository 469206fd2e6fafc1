// Handlers that were registered by LinuxThreads' functions run when the thread is cancelled.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
void _pthread_cleanup_push(struct _pthread_cleanup_buffer *, void (*)(void *), void *);
void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *, int);
static int order;
static sem_t registered;
static void note(void *digit) { order = 10 * order + (int)(long)digit; }
static __attribute__((noinline)) void inner(void) {
    struct _pthread_cleanup_buffer here;
    _pthread_cleanup_push(&here, note, (void *)1);
    sem_post(&registered);
    pause();
    _pthread_cleanup_pop(&here, 0);
}
static __attribute__((noinline)) void middle(void) {
    pthread_cleanup_push(note, (void *)2);
    inner();
    pthread_cleanup_pop(0);
}
static void *worker(void *u) {
    struct _pthread_cleanup_buffer here, gone;
    _pthread_cleanup_push(&here, note, (void *)3);
    _pthread_cleanup_push(&gone, note, (void *)4);
    _pthread_cleanup_pop(&gone, 0);
    middle();
    _pthread_cleanup_pop(&here, 0);
    return u;
}
int main(void) {
    pthread_t a;
    sem_init(&registered, 0, 0);
    pthread_create(&a, 0, worker, 0);
    sem_wait(&registered);
    pthread_cancel(a);
    pthread_join(a, 0);
    assert(order == 123);
    return 0;
}

// A pointer to a nested function is code on the stack of its thread.
#include <assert.h>
#include <pthread.h>
static int twice(int (*function)(void)) { return function() + function(); }
static void *worker(void *argument) {
    int number = *(int *)argument;
    int next(void) { return number++; }
    *(int *)argument = twice(next);
    return 0;
}
int main(void) {
    pthread_t a;
    int number = 20;
    pthread_create(&a, 0, worker, &number);
    pthread_join(a, 0);
    assert(number == 41);
    return 0;
}

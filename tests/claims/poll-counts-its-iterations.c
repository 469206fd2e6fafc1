// A loop that polls under a lock counts its iterations, and fails at the twentieth.
#include <pthread.h>
#include <assert.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int flag, polls;
static void *poller(void *u) {
    for (;;) { pthread_mutex_lock(&m); int f = flag; polls++; assert(polls < 20); pthread_mutex_unlock(&m); if (f) return u; }
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, poller, 0);
    pthread_mutex_lock(&m); flag = 1; pthread_mutex_unlock(&m);
    pthread_join(a, 0);
    return 0;
}

// Two threads poll a flag under one lock, and no thread sets it.
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int flag;
static void *poller(void *u) {
    for (;;) { pthread_mutex_lock(&m); int f = flag; pthread_mutex_unlock(&m); if (f) return u; }
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, poller, 0); pthread_create(&b, 0, poller, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    return 0;
}

// A thread tries a lock three times; each attempt fails if the thread that polls under it holds it then.
#include <pthread.h>
#include <assert.h>
#include <sched.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int flag, tries;
static void *poller(void *u) {
    for (;;) { pthread_mutex_lock(&m); int f = flag; pthread_mutex_unlock(&m); if (f) return u; usleep(10); }
}
static void *trier(void *u) {
    int failed = 0;
    for (int i = 0; i < 3; i++) { if (pthread_mutex_trylock(&m)) failed++; else pthread_mutex_unlock(&m); }
    assert(failed < 3);
    pthread_mutex_lock(&m); flag = 1; pthread_mutex_unlock(&m);
    return u;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, poller, 0); pthread_create(&b, 0, trier, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    return 0;
}

// A thread polls a flag under a lock, and sleeps in between, until main has set it.
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int flag;
static void *poller(void *u) {
    for (;;) { pthread_mutex_lock(&m); int f = flag; pthread_mutex_unlock(&m); if (f) return u; usleep(1000); }
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, poller, 0);
    pthread_mutex_lock(&m); flag = 1; pthread_mutex_unlock(&m);
    pthread_join(a, 0);
    return 0;
}

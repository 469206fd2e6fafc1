// A thread polls a flag under a lock that is a word of the program; no thread sets the flag.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_flag word = ATOMIC_FLAG_INIT;
static int flag;
static void *poller(void *u) {
    for (;;) {
        while (atomic_flag_test_and_set(&word)) {}
        int f = flag;
        atomic_flag_clear(&word);
        if (f) return u;
        usleep(1000);
    }
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, poller, 0);
    pthread_join(a, 0);
    return 0;
}

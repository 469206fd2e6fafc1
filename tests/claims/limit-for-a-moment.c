// A limit of the process is lower for a moment.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
static struct rlimit low = {77, 1000}, high = {78, 1000};
static void *worker(void *u) {
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    if (now.rlim_cur == 77) abort();
    return u;
}
int main(void) {
    pthread_t a;
    setrlimit(RLIMIT_NOFILE, &high);
    pthread_create(&a, 0, worker, 0);
    setrlimit(RLIMIT_NOFILE, &low);
    setrlimit(RLIMIT_NOFILE, &high);
    pthread_join(a, 0);
    return 0;
}

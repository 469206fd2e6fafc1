// The time zone is another one for a moment.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static void *worker(void *u) {
    time_t start = 0;
    struct tm time;
    localtime_r(&start, &time);
    if (time.tm_hour) abort();
    return u;
}
int main(void) {
    pthread_t a;
    setenv("TZ", "UTC", 1);
    tzset();
    pthread_create(&a, 0, worker, 0);
    setenv("TZ", "XYZ5", 1);
    tzset();
    setenv("TZ", "UTC", 1);
    tzset();
    pthread_join(a, 0);
    return 0;
}

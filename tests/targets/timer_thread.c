/* A timer that runs its function in a separate thread, created by the C library. */
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static sem_t fired;

static void fire(union sigval value)
{
    sem_post(value.sival_ptr);
}

int main(void)
{
    timer_t timer;
    struct sigevent event;
    struct itimerspec when = {.it_value.tv_nsec = 1000000};
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = fire;
    event.sigev_value.sival_ptr = &fired;
    sem_init(&fired, 0, 0);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return 1;
    timer_settime(timer, 0, &when, NULL);
    sem_wait(&fired);
    timer_delete(timer);
    puts("fired");
    return 0;
}

// The kernel sends the signal of mq_notify within the call that sends the message.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static volatile int notified;
static mqd_t queue;
static void handler(int n) { notified++; }
static void *sender(void *u) {
    if (mq_send(queue, "x", 1, 0)) exit(3);
    return u;
}
int main(void) {
    queue = mq_open("/heddle-signal", O_CREAT | O_RDWR, 0600, 0);
    if (queue < 0 || mq_unlink("/heddle-signal")) return 3;
    signal(SIGUSR1, handler);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    if (mq_notify(queue, &event)) return 3;
    pthread_t a;
    pthread_create(&a, 0, sender, 0);
    pthread_join(a, 0);
    if (notified != 1) abort();
    return 0;
}

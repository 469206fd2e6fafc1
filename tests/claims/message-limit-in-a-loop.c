// A thread receives from a queue, a second at a time, until main has sent a message.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static mqd_t queue;
static void *receiver(void *u) {
    char text[8];
    struct timespec limit;
    do {
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += 1;
    } while (mq_timedreceive(queue, text, sizeof text, 0, &limit) != 1);
    return u;
}
int main(void) {
    pthread_t a;
    char name[32];
    struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/in-a-loop-%d", (int)getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &small);
    assert(queue >= 0 && !mq_unlink(name));
    pthread_create(&a, 0, receiver, 0);
    assert(!mq_send(queue, "x", 1, 0));
    pthread_join(a, 0);
    return 0;
}

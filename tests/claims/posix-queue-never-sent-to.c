// A thread waits for a message of a POSIX queue that has no name any more, so that only this program has it.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static mqd_t queue;
static void *receiver(void *u) {
    char text[8];
    mq_receive(queue, text, sizeof text, 0);
    return u;
}
int main(void) {
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/claim-empty-%d", getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    assert(queue >= 0);
    mq_unlink(name);
    pthread_t a;
    pthread_create(&a, 0, receiver, 0);
    pthread_join(a, 0);
    return 0;
}

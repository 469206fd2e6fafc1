// Each of two threads receives one of two messages from a queue that has no name any more.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static mqd_t queue;
static int sum;
static void *receiver(void *u) {
    char text[8];
    assert(mq_receive(queue, text, sizeof text, 0) == 1);
    __atomic_fetch_add(&sum, text[0], __ATOMIC_SEQ_CST);
    return u;
}
int main(void) {
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/claim-two-%d", getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    assert(queue >= 0);
    mq_unlink(name);
    pthread_t a, b;
    pthread_create(&a, 0, receiver, 0);
    pthread_create(&b, 0, receiver, 0);
    assert(!mq_send(queue, "\1", 1, 0) && !mq_send(queue, "\2", 1, 0));
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(sum == 3);
    return 0;
}

// Each of two messages that a queue takes is received by main, in the order of their sending.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static mqd_t queue;
static void *sender(void *u) {
    assert(!mq_send(queue, "a", 1, 0) && !mq_send(queue, "b", 1, 0));
    return u;
}
int main(void) {
    char name[64], text[8];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/claim-sent-%d", getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    assert(queue >= 0);
    mq_unlink(name);
    pthread_t a;
    pthread_create(&a, 0, sender, 0);
    assert(mq_receive(queue, text, sizeof text, 0) == 1 && text[0] == 'a');
    assert(mq_receive(queue, text, sizeof text, 0) == 1 && text[0] == 'b');
    pthread_join(a, 0);
    return 0;
}

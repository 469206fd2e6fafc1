// A thread sends one message more than a POSIX queue takes, which only this program has and no thread receives from.
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static mqd_t queue;
static void *sender(void *u) {
    for (int i = 0; i < 3; i++) mq_send(queue, "x", 1, 0);
    return u;
}
int main(void) {
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/claim-full-%d", getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    assert(queue >= 0);
    mq_unlink(name);
    pthread_t a;
    pthread_create(&a, 0, sender, 0);
    pthread_join(a, 0);
    return 0;
}

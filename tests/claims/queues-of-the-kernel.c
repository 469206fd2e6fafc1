// System V and POSIX queues: receivers wait for a message of their type, senders for room. A time limit
// ends a wait when nothing else can.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/msg.h>
#include <time.h>
#include <unistd.h>
struct message {
    long type;
    char text[4000];
};
static int old;
static mqd_t new;
static void *receiver(void *u) {
    struct message m;
    assert(msgrcv(old, &m, sizeof m.text, 2, 0) == sizeof m.text);
    for (int i = 0; i < 8; i++) assert(msgrcv(old, &m, sizeof m.text, 1, 0) == sizeof m.text);
    char text[8];
    for (int i = 0; i < 4; i++) assert(mq_receive(new, text, sizeof text, 0) == 3);
    return u;
}
int main(void) {
    char name[32];
    snprintf(name, sizeof name, "/claim-%d", getpid());
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
    old = msgget(IPC_PRIVATE, 0600);
    new = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
    mq_unlink(name);
    assert(old >= 0 && new != (mqd_t)-1);
    pthread_t t;
    pthread_create(&t, 0, receiver, 0);
    struct message m = {1, "text"};
    for (int i = 0; i < 2; i++) assert(!msgsnd(old, &m, sizeof m.text, 0));
    m.type = 2;
    assert(!msgsnd(old, &m, sizeof m.text, 0));
    m.type = 1;
    for (int i = 2; i < 8; i++) assert(!msgsnd(old, &m, sizeof m.text, 0));
    for (int i = 0; i < 4; i++) assert(!mq_send(new, "abc", 3, 0));
    pthread_join(t, 0);
    char text[8];
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 3600;
    assert(mq_timedreceive(new, text, sizeof text, 0, &end) == -1 && errno == ETIMEDOUT);
    msgctl(old, IPC_RMID, 0);
    return 0;
}

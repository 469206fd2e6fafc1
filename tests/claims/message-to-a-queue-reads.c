// The kernel reads the message when it is sent.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
static struct message {
    long type;
    char text[8];
} sent = {1, "a"};
static int queue;
static void *worker(void *u) {
    struct message got;
    msgsnd(queue, &sent, 8, 0);
    msgrcv(queue, &got, 8, 0, 0);
    if (got.text[0] == 'b') abort();
    return u;
}
int main(void) {
    pthread_t a;
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_create(&a, 0, worker, 0);
    *(volatile char *)sent.text = 'b';
    *(volatile char *)sent.text = 'a';
    pthread_join(a, 0);
    return 0;
}

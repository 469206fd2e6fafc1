// Each of two threads receives one of two messages from a queue without a key.
#include <assert.h>
#include <pthread.h>
#include <sys/msg.h>
static int queue;
struct message { long kind; char text[8]; };
static void *taker(void *u) {
    struct message message;
    assert(msgrcv(queue, &message, 8, 0, 0) == 8);
    return u;
}
int main(void) {
    pthread_t a, b;
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_create(&a, 0, taker, 0);
    pthread_create(&b, 0, taker, 0);
    struct message message = {1, "a"};
    msgsnd(queue, &message, 8, 0);
    msgsnd(queue, &message, 8, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}

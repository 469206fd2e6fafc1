// A thread waits for a message of a queue without a key, which only this program can have.
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/msg.h>
static int queue;
static void *receiver(void *u) {
    struct { long kind; char text[8]; } message;
    msgrcv(queue, &message, sizeof message.text, 0, 0);
    return u;
}
int main(void) {
    pthread_t a;
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_create(&a, 0, receiver, 0);
    pthread_join(a, 0);
    return 0;
}

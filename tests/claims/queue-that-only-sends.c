// A descriptor of a message queue that only sends does not allow receiving: the call fails at once.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdlib.h>

static mqd_t sends, receives;

static void *wrong(void *unused) {
    char message[16];
    if (mq_receive(sends, message, sizeof message, NULL) != -1 || errno != EBADF) {
        abort();
    }
    if (mq_send(receives, "x", 1, 0) != -1 || errno != EBADF) {
        abort();
    }
    return unused;
}

int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 16};
    pthread_t thread;
    mq_unlink("/heddle-claim-only-sends");
    sends = mq_open("/heddle-claim-only-sends", O_WRONLY | O_CREAT, 0600, &attributes);
    receives = mq_open("/heddle-claim-only-sends", O_RDONLY);
    if (sends == (mqd_t)-1 || receives == (mqd_t)-1 || mq_send(sends, "y", 1, 0)) {
        return 3;
    }
    pthread_create(&thread, NULL, wrong, NULL);
    pthread_join(thread, NULL);
    mq_unlink("/heddle-claim-only-sends");
    return 0;
}

// Main receives from a socket until the thread has closed the other end, which wrote less than a read asks for.
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *unused) {
    if (write(ends[1], "abc", 3) != 3 || write(ends[1], "defgh", 5) != 5) {
        exit(3);
    }
    close(ends[1]);
    return unused;
}

int main(void) {
    pthread_t thread;
    char bytes[16];
    int len, all = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
        return 3;
    }
    pthread_create(&thread, NULL, writer, NULL);
    while ((len = recv(ends[0], bytes, sizeof bytes, 0)) > 0) {
        all += len;
    }
    if (all != 8) {
        abort();
    }
    pthread_join(thread, NULL);
    return 0;
}

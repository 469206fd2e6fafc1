// Two threads each write more than the socket takes before they read.
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
enum { SIZE = 1 << 20 };
static int s[2];
static void *side(void *end) {
    static char data[2][SIZE];
    long at = (long)end;
    write(s[at], data[at], SIZE);
    read(s[at], data[at], SIZE);
    return 0;
}
int main(void) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    pthread_t t;
    pthread_create(&t, 0, side, (void *)1);
    side(0);
    pthread_join(t, 0);
    return 0;
}

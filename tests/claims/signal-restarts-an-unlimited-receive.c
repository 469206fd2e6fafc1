// The same without a time limit: the call is restarted.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
static int ends[2];
static void handle(int signal) { (void)signal; }
static void *receiver(void *u) {
    char byte;
    assert(recv(ends[0], &byte, 1, 0) == 1);
    return u;
}
int main(void) {
    pthread_t a;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_create(&a, 0, receiver, 0);
    pthread_kill(a, SIGUSR1);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(a, 0);
    return 0;
}

// The kernel sends SIGCHLD when the child ends, and the program has a handler for it.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int ended;
static void handler(int n) { ended = 1; }
int main(void) {
    signal(SIGCHLD, handler);
    pid_t child = fork();
    if (!child) _exit(0);
    while (waitpid(child, 0, 0) < 0);
    if (!ended) abort();
    return 0;
}

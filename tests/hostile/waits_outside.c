/* Waits for another process, in the way that the argument names. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void note(int signal)
{
    ended = signal;
}

static void *nothing(void *unused)
{
    return unused;
}

/* Nothing connects to the address. */
static int wait_for_peer(int polls)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in any = { .sin_family = AF_INET };
    bind(listener, (struct sockaddr *)&any, sizeof any);
    listen(listener, 1);
    if (polls) {
        struct pollfd one = { listener, POLLIN, 0 };
        poll(&one, 1, -1);
    }
    return accept(listener, 0, 0) < 0;
}

/* Nor does anything connect to this one. */
static int ask_for_peer(void)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in any = { .sin_family = AF_INET };
    bind(listener, (struct sockaddr *)&any, sizeof any);
    listen(listener, 1);
    while (accept(listener, 0, 0) < 0)
        usleep(1000);
    return 0;
}

/* The child has the lock for as long as it lives. */
static int wait_for_lock(void)
{
    int ready[2], file = open("locked", O_CREAT | O_RDWR, 0600);
    char byte;
    pipe(ready);
    if (fork() == 0) {
        flock(open("locked", O_RDWR), LOCK_EX);
        write(ready[1], "", 1);
        for (;;)
            pause();
    }
    read(ready[0], &byte, 1);
    return flock(file, LOCK_EX);
}

/* The child ends after so many seconds. */
static int wait_for_child(int seconds)
{
    sigset_t blocked, before;
    int status;
    signal(SIGCHLD, note);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    if (fork() == 0) {
        sleep(seconds);
        _exit(3);
    }
    while (!ended)
        sigsuspend(&before);
    wait(&status);
    return WEXITSTATUS(status) != 3;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    if (strcmp(way, "accept") == 0 || strcmp(way, "poll") == 0)
        return wait_for_peer(way[0] == 'p');
    if (strcmp(way, "loop") == 0)
        return ask_for_peer();
    if (strcmp(way, "lock") == 0)
        return wait_for_lock();
    return wait_for_child(argc > 2 ? atoi(argv[2]) : 0);
}

/* Makes copies of its process while two threads increment a count: in the way that the first argument
 * names. With a second argument, a lost increment fails. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *increment(void *unused)
{
    int seen = count;
    count = seen + 1;
    return unused;
}

static int status_of(pid_t child)
{
    int status = -1;
    assert(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static void *locked(void *number)
{
    pthread_mutex_lock(&lock);
    ++*(int *)number;
    pthread_mutex_unlock(&lock);
    return malloc(100);
}

/* The child uses the heap, streams, locks and threads, and its exit handlers run. */
static int answer[2];

static void at_exit(void)
{
    assert(write(answer[1], "exit", 4) == 4);
}

static void child_works(void)
{
    char *before = malloc(1000), text[8] = "";
    strcpy(before, "before");
    assert(pipe(answer) == 0);
    pid_t child = fork();
    if (child == 0) {
        pthread_t threads[3];
        int number = 0;
        close(answer[0]);
        before = realloc(before, 100000);
        assert(strcmp(before, "before") == 0);
        free(before);
        for (int at = 0; at < 1000; at++)
            free(calloc(at, 16));
        for (int at = 0; at < 3; at++)
            pthread_create(&threads[at], NULL, locked, &number);
        for (int at = 0; at < 3; at++)
            pthread_join(threads[at], NULL);
        increment(NULL);
        printf("%d\n", number);
        atexit(at_exit);
        exit(number);
    }
    close(answer[1]);
    assert(read(answer[0], text, sizeof text) == 4 && strcmp(text, "exit") == 0);
    assert(read(answer[0], text, sizeof text) == 0);
    int status = status_of(child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    assert(strcmp(before, "before") == 0);
    free(before);
}

/* As death tests do: the child ends by a signal, which the parent sees. */
static void child_dies(void)
{
    static const int signals[] = { SIGABRT, SIGSEGV, SIGKILL };
    for (int at = 0; at < 3; at++) {
        pid_t child = fork();
        if (child == 0) {
            if (signals[at] == SIGABRT)
                abort();
            if (signals[at] == SIGSEGV)
                *(volatile int *)8 = 1;
            raise(signals[at]);
            _exit(0);
        }
        int status = status_of(child);
        assert(WIFSIGNALED(status) && WTERMSIG(status) == signals[at]);
    }
}

static volatile sig_atomic_t handled;

static void handle(int signal)
{
    handled = signal;
}

static void child_handles_signals(void)
{
    signal(SIGUSR1, handle);
    signal(SIGSEGV, SIG_DFL);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        raise(SIGUSR2);
        _exit(handled == SIGUSR1 ? 7 : 1);
    }
    int status = status_of(child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    assert(kill(child, SIGTERM) == 0);
    assert(WTERMSIG(status_of(child)) == SIGTERM);
}

static void child_executes(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "exit 5", NULL);
        _exit(127);
    }
    assert(WEXITSTATUS(status_of(child)) == 5);
    child = fork();
    if (child == 0) {
        execl("/no/such/program", "program", NULL);
        _exit(errno == ENOENT ? 6 : 1);
    }
    assert(WEXITSTATUS(status_of(child)) == 6);
}

static void by_system_calls(void)
{
    pid_t child = syscall(SYS_fork);
    if (child == 0)
        _exit(2);
    assert(WEXITSTATUS(status_of(child)) == 2);
    child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
    if (child == 0)
        _exit(3);
    assert(WEXITSTATUS(status_of(child)) == 3);
    struct {
        unsigned long flags, pidfd, child_tid, parent_tid, exit_signal, stack, size, tls;
    } request = { .exit_signal = SIGCHLD };
    child = syscall(SYS_clone3, &request, sizeof request);
    if (child == 0)
        _exit(4);
    assert(WEXITSTATUS(status_of(child)) == 4);
}

static void *fork_and_return(void *unused)
{
    pid_t child = fork();
    if (child != 0)
        assert(status_of(child) == 0);
    return unused;
}

static void by_another_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fork_and_return, NULL);
    pthread_join(thread, NULL);
}

static void one_is_left(void)
{
    pid_t child = fork();
    if (child == 0 && fork() >= 0)
        for (;;)
            pause();
}

static void memory_is_shared(void)
{
    int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        *shared = 1;
        _exit(0);
    }
    status_of(child);
    assert(*shared == 1);
}

static void another_program(void)
{
    execl("/no/such/program", "program", NULL);
    execlp("sh", "sh", "-c", "exit 0", NULL);
}

static void another_program_fails(void)
{
    execlp("sh", "sh", "-c", "exit 9", NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
        { "works", child_works },
        { "dies", child_dies },
        { "signals", child_handles_signals },
        { "executes", child_executes },
        { "calls", by_system_calls },
        { "thread", by_another_thread },
        { "left", one_is_left },
        { "shared", memory_is_shared },
        { "exec", another_program },
        { "exec-fails", another_program_fails },
    };
    pthread_t one, two;
    pthread_create(&one, NULL, increment, NULL);
    pthread_create(&two, NULL, increment, NULL);
    for (unsigned at = 0; at < sizeof ways / sizeof *ways; at++)
        if (argc > 1 && strcmp(argv[1], ways[at].name) == 0)
            ways[at].run();
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(argc < 3 || count == 2);
    return 0;
}

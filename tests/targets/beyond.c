/* Rarely used features, one for each argument. Heddle behaves as the system does, or reports that
 * it cannot before any harm is done. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int forever = 1;
static int observed;
static sem_t turn;

static void *in_thread(void *(*work)(void *))
{
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, &result);
    return result;
}

static jmp_buf back;

/* Leaves a handler by a jump, and continues. */
static void leave(int signal)
{
    (void)signal;
    longjmp(back, 1);
}

static void *jumps(void *unused)
{
    if (setjmp(back) == 0) {
        signal(SIGUSR1, leave);
        raise(SIGUSR1);
        observed = -1;
    }
    return unused;
}

static void longjmp_from_handler(void)
{
    in_thread(jumps);
}

/* The program has its own fibers, on its own stack. */
static ucontext_t here, there;
static char stack[64 * 1024];

static void fiber(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&m);
        observed++;
        pthread_mutex_unlock(&m);
        swapcontext(&there, &here);
    }
}

static void *resumes(void *unused)
{
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, fiber, 0);
    for (int i = 0; i < 3; i++)
        swapcontext(&here, &there);
    return unused;
}

static void contexts(void)
{
    in_thread(resumes);
    if (observed != 3)
        exit(1);
}

/* Switches to another stack and back, which the library does not notice. */
static jmp_buf outside, inside;

static void jumped_to(void)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    if (_setjmp(inside) == 0)
        _longjmp(outside, 1);
    pthread_mutex_lock(&m);
    observed = 2;
    pthread_mutex_unlock(&m);
    _longjmp(outside, 2);
}

static void longjmp_between_stacks(void)
{
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, jumped_to, 0);
    switch (_setjmp(outside)) {
    case 0:
        setcontext(&there);
        break;
    case 1:
        _longjmp(inside, 1);
    }
    if (observed != 2)
        exit(1);
}

static void *loads(void *unused)
{
    for (int i = 0; i < 2; i++) {
        void *library = dlopen("libz.so.1", RTLD_NOW);
        if (!library)
            library = dlopen("libm.so.6", RTLD_NOW);
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        if (library)
            dlclose(library);
    }
    return unused;
}

static void dlopen_and_dlclose(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, loads, NULL);
    loads(NULL);
    pthread_join(thread, NULL);
}

static void load_into_namespace(void)
{
    void *library = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
    if (library)
        dlclose(library);
}

static void by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void by_fork_call(void)
{
    pid_t child = syscall(SYS_fork);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void by_clone(void)
{
    pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void by_clone3(void)
{
    unsigned long arguments[11] = { 0, 0, 0, 0, SIGCHLD };
    pid_t child = syscall(SYS_clone3, arguments, sizeof arguments);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static int own_thread(void *unused)
{
    observed = unused == NULL;
    return 0;
}

/* A kernel thread that no library created. */
static void clone_thread(void)
{
    clone(own_thread, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL);
    usleep(1000);
}

static void vfork_call(void)
{
    if (syscall(SYS_vfork) == 0)
        _exit(0);
}

static void by_execve(void)
{
    char *const argv[] = { "true", NULL };
    execve("/bin/true", argv, environ);
}

static void leave_namespace(void)
{
    unshare(CLONE_FILES);
}

static void raw_exit(void)
{
    syscall(SYS_exit, 0);
}

static void *changes_user(void *unused)
{
    syscall(SYS_setresuid, -1, -1, -1);
    return unused;
}

static void user_of_one_thread(void)
{
    in_thread(changes_user);
}

static void *changes_file_user(void *unused)
{
    setfsuid(1);
    return unused;
}

static void file_user_of_one_thread(void)
{
    in_thread(changes_file_user);
}

static void *gives_up_rights(void *unused)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return unused;
}

static void rights_of_one_thread(void)
{
    in_thread(gives_up_rights);
}

static void *becomes_another(void *unused)
{
    personality(ADDR_NO_RANDOMIZE);
    return unused;
}

static void personality_of_one_thread(void)
{
    in_thread(becomes_another);
}

static void *gives_up_capabilities(void *unused)
{
    syscall(SYS_capset, 0, 0);
    return unused;
}

static void capabilities_of_one_thread(void)
{
    in_thread(gives_up_capabilities);
}

static void by_system(void)
{
    if (system("true") != 0)
        exit(1);
}

static void by_popen(void)
{
    FILE *stream = popen("true", "r");
    if (!stream || pclose(stream) != 0)
        exit(1);
}

static void by_posix_spawn(void)
{
    pid_t child;
    char *const argv[] = { "true", NULL };
    if (posix_spawnp(&child, "true", NULL, NULL, argv, environ) == 0)
        waitpid(child, NULL, 0);
}

static void enter_namespace(void)
{
    setns(-1, 0);
}

static void strict_seccomp(void)
{
    syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
}

static void prctl_seccomp(void)
{
    prctl(PR_SET_SECCOMP, 99, 0, 0, 0);
}

static void trace_me(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

/* Continues on another thread's stack, which is undefined. */
static jmp_buf others;
static pthread_barrier_t meeting;

static void *is_jumped_to(void *unused)
{
    if (setjmp(others) == 0) {
        pthread_barrier_wait(&meeting);
        pthread_barrier_wait(&meeting);
    }
    return unused;
}

static void longjmp_into_thread(void)
{
    pthread_t thread;
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&thread, NULL, is_jumped_to, NULL);
    pthread_barrier_wait(&meeting);
    longjmp(others, 1);
}

/* A fiber of the program is resumed by one thread after another. */
static void *resumes_once(void *unused)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    swapcontext(&here, &there);
    return unused;
}

static void contexts_move(void)
{
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, fiber, 0);
    in_thread(resumes_once);
    in_thread(resumes_once);
    resumes_once(NULL);
    if (observed != 3)
        exit(1);
}

static void *in_library(void *unused)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    double (*root)(double) = library ? (double (*)(double))dlsym(library, "sqrt") : NULL;
    pthread_mutex_lock(&m);
    if (root)
        observed += (int)root(9);
    pthread_mutex_unlock(&m);
    if (library)
        dlclose(library);
    return unused;
}

static void dlopen_by_all(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, in_library, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (observed != 9)
        exit(1);
}

static void *yields(void *unused)
{
    while (forever)
        sched_yield();
    return unused;
}

static void only_yields(void)
{
    in_thread(yields);
}

static void *computes(void *unused)
{
    for (volatile long i = 0; i < 3000000; i++)
        ;
    return unused;
}

/* A long computation without a call, which ends. */
static void computes_long(void)
{
    in_thread(computes);
}

static void wait_in_handler(int signal)
{
    sem_wait(&turn);
    observed += signal;
}

/* A handler that waits for another thread. */
static void *posts(void *unused)
{
    sem_post(&turn);
    return unused;
}

static void handler_waits(void)
{
    pthread_t thread;
    sem_init(&turn, 0, 0);
    signal(SIGUSR1, wait_in_handler);
    pthread_create(&thread, NULL, posts, NULL);
    raise(SIGUSR1);
    pthread_join(thread, NULL);
    if (observed != SIGUSR1)
        exit(1);
}

static void lock_it(int signal)
{
    (void)signal;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
}

static void *interrupted(void *unused)
{
    signal(SIGUSR1, lock_it);
    pthread_mutex_lock(&m);
    raise(SIGUSR1);
    pthread_mutex_unlock(&m);
    return unused;
}

static void handler_locks(void)
{
    in_thread(interrupted);
}

static void *spins(void *unused)
{
    while (forever)
        ;
    return unused;
}

static void never_yields(void)
{
    in_thread(spins);
}

static void by_alarm(void)
{
    signal(SIGALRM, lock_it);
    alarm(1);
    pause();
}

static void by_setitimer(void)
{
    struct itimerval in = { { 0, 0 }, { 0, 1000 } };
    signal(SIGALRM, lock_it);
    setitimer(ITIMER_REAL, &in, NULL);
    pause();
}

static void by_timer(void)
{
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, NULL, &timer);
}

static void by_processor_time(void)
{
    struct itimerval in = { { 0, 0 }, { 0, 1000 } };
    setitimer(ITIMER_PROF, &in, NULL);
}

static void by_timerfd(void)
{
    struct itimerspec in = { { 0, 0 }, { 0, 1000 } };
    unsigned long times = 0;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(timer, 0, &in, NULL);
    if (read(timer, &times, sizeof times) != sizeof times || times != 1)
        exit(1);
    close(timer);
}

static void timerfd_twice(void)
{
    dup(timerfd_create(CLOCK_MONOTONIC, 0));
}

static void by_signalfd(void)
{
    sigset_t set;
    sigemptyset(&set);
    signalfd(-1, &set, 0);
}

static void signalfd_twice(void)
{
    sigset_t set;
    sigemptyset(&set);
    dup(signalfd(-1, &set, 0));
}

static void by_io_uring(void)
{
    syscall(SYS_io_uring_setup, 1, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} things[] = {
#define THING(name) { #name, name }
    THING(longjmp_from_handler),
    THING(contexts),
    THING(longjmp_between_stacks),
    THING(longjmp_into_thread),
    THING(contexts_move),
    THING(dlopen_and_dlclose),
    THING(dlopen_by_all),
    THING(load_into_namespace),
    THING(by_vfork),
    THING(by_fork_call),
    THING(by_clone),
    THING(by_clone3),
    THING(clone_thread),
    THING(vfork_call),
    THING(by_execve),
    THING(leave_namespace),
    THING(raw_exit),
    THING(user_of_one_thread),
    THING(file_user_of_one_thread),
    THING(rights_of_one_thread),
    THING(personality_of_one_thread),
    THING(capabilities_of_one_thread),
    THING(by_system),
    THING(by_popen),
    THING(by_posix_spawn),
    THING(enter_namespace),
    THING(strict_seccomp),
    THING(prctl_seccomp),
    THING(trace_me),
    THING(handler_locks),
    THING(handler_waits),
    THING(never_yields),
    THING(only_yields),
    THING(computes_long),
    THING(by_alarm),
    THING(by_setitimer),
    THING(by_timer),
    THING(by_processor_time),
    THING(by_timerfd),
    THING(timerfd_twice),
    THING(by_signalfd),
    THING(signalfd_twice),
    THING(by_io_uring),
};

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < sizeof things / sizeof *things; i++) {
        if (argc < 2)
            puts(things[i].name);
        else if (strcmp(things[i].name, argv[1]) == 0)
            things[i].run();
    }
    return 0;
}

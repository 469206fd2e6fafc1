// A program that loads a library while it has threads; CASE selects what the library does. With LIBRARY
// defined, this is the library.

#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef LIBRARY

// The loader places it at a fixed distance from the thread pointer, in threads that exist already, too.
static __thread int counter __attribute__((tls_model("initial-exec"))) = 7;

int next(void) { return ++counter; }

int call_nested(int (*function)(int), int argument) { return function(argument); }

// A nested function whose address is taken is code on the stack.
int on_stack(int argument) {
    int add(int more) { return argument + more; }
    return call_nested(add, 1);
}

static pthread_t thread;
static sem_t end;

static void *waits(void *unused) {
    sem_wait(&end);
    // Functions that the runtime replaces, and that nothing has called before.
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    printf("the thread ends\n");
    fflush(stdout);
    return unused;
}

void start(void) {
    sem_init(&end, 0, 0);
    pthread_create(&thread, 0, waits, 0);
}

// The loader holds its lock here.
static void __attribute__((destructor)) stop(void) {
    if (thread) {
        sem_post(&end);
        pthread_join(thread, 0);
    }
}

#else

static pthread_barrier_t loaded, used;
static int (*of_library)(int);
static void *library;

static void load(const char *path, const char *name) {
    library = dlopen(path, RTLD_NOW);
    assert(library);
    of_library = (int (*)(int))dlsym(library, name);
    assert(of_library);
}

static void *calls(void *argument) {
    int *expected = argument;
    for (int i = 0; i < 2; i++) {
        pthread_barrier_wait(&loaded);
        assert(of_library(7) == *expected);
        pthread_barrier_wait(&used);
    }
    return 0;
}

// Each time the library is loaded, its variable is new in all threads.
static void call_from_threads(const char *path, const char *name) {
    pthread_t thread;
    int expected = 8;
    pthread_barrier_init(&loaded, 0, 2);
    pthread_barrier_init(&used, 0, 2);
    pthread_create(&thread, 0, calls, &expected);
    for (int i = 0; i < 2; i++) {
        load(path, name);
        // The C library asks all threads that it knows to change their groups.
        assert(!setgid(getgid()));
        pthread_barrier_wait(&loaded);
        pthread_barrier_wait(&used);
        dlclose(library);
    }
    pthread_join(thread, 0);
}

int main(int argc, char **argv) {
    assert(argc == 3);
    if (!strcmp(argv[2], "variable"))
        call_from_threads(argv[1], "next");
    else if (!strcmp(argv[2], "code-on-stack"))
        call_from_threads(argv[1], "on_stack");
    else {
        load(argv[1], "start");
        ((void (*)(void))of_library)();
        dlclose(library);
    }
    return 0;
}

#endif

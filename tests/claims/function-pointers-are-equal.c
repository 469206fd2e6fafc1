#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static char *(*volatile const search)(const char *, int) = strrchr;
static char text[4] = "0";
static volatile int equal;

static void *compares(void *unused) {
    equal = search == strrchr && dlsym(RTLD_DEFAULT, "strrchr") == (void *)search &&
            search(text, '0') == text;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, compares, 0);
    pthread_join(thread, 0);
    assert(equal);
    return 0;
}

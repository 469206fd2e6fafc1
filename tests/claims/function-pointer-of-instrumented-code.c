#include <assert.h>
#include <pthread.h>
#include <string.h>

static char text[16] = "00";
static char *(*volatile const search)(const char *, int) = strrchr;
static char *found;

static void *reader(void *unused) {
    found = search(text, '1');
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    text[0] = '1';
    text[1] = '1';
    pthread_join(thread, 0);
    assert(found != text);
    return 0;
}

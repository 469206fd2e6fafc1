/* Frees what it did not allocate; the argument says what. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char variable[256];
static const char *what;

static void *work(void *unused)
{
    (void)unused;
    char local[256];
    char *block = malloc(256);
    /* The bytes before the pointer may have any value. */
    memset(block, 0x30, 256);
    memset(variable, 0x30, 256);
    memset(local, 0x30, 256);
    void *volatile wrong = NULL;
    if (!strcmp(what, "variable"))
        wrong = variable + 64;
    else if (!strcmp(what, "stack"))
        wrong = local + 64;
    else if (!strcmp(what, "inside"))
        wrong = block + 64;
    else if (!strcmp(what, "misaligned"))
        wrong = block + 3;
    else if (!strcmp(what, "beyond"))
        wrong = block + (1 << 20);
    else if (!strcmp(what, "number"))
        wrong = (void *)42;
    else if (!strcmp(what, "resized")) {
        char *volatile other = variable;
        wrong = realloc(other, 10);
        return wrong;
    }
    free(wrong);
    return NULL;
}

static void *idle(void *unused)
{
    return unused;
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "variable";
    pthread_t thread, other;
    pthread_create(&thread, NULL, work, NULL);
    pthread_create(&other, NULL, idle, NULL);
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
    return 0;
}

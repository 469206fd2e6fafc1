/* Reads its input once and then declares where executions begin. With FILE_POSITION, each execution
   reads on in the input; with NEVER, the program does not declare the beginning. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void heddle_begin(void) __attribute__((weak));

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int input, begun, *total;

static void *add(void *unused)
{
    pthread_mutex_lock(&guard);
    int was = *total;
    pthread_mutex_unlock(&guard);
    pthread_mutex_lock(&guard);
    *total = was + 1;
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(int argc, char **argv)
{
    char head[4];
    (void)argc;
    total = calloc(1, sizeof *total);
    input = open(argv[0], O_RDONLY);
    assert(input >= 0 && read(input, head, 4) == 4 && !memcmp(head, "\177ELF", 4));
    begun++;
#ifndef NEVER
    if (heddle_begin)
        heddle_begin();
#else
    if (begun > 5)
        heddle_begin();
#endif
    begun++;
    pthread_t one, two;
    pthread_create(&one, NULL, add, NULL);
    pthread_create(&two, NULL, add, NULL);
#ifdef FILE_POSITION
    /* The class of the file: 64 bits. */
    assert(read(input, head, 1) == 1 && head[0] == 2);
#endif
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    if (heddle_begin)
        heddle_begin(); /* again, to no effect */
    assert(begun == 2);
    return *total != 2;
}

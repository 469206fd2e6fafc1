/* Overwrites memory that does not belong to it, if the other thread runs first. The argument selects
 * the memory: heap, got, or a byte with which all memory shared with other processes is filled. */
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first;

static void *work(void *number)
{
    pthread_mutex_lock(&lock);
    if (first == 0)
        first = (int)(long)number;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void spoil_heap(void)
{
    /* In both directions from a block, until the end of the mapping. */
    volatile char *block = malloc(64);
    for (long i = 0; i < 1 << 16; i++)
        block[-i] = 0x5a;
    for (long i = 0;; i++)
        block[i] = 0x5a;
}

static void spoil_table(void)
{
    for (ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_PLTGOT) {
            void **table = (void **)entry->d_un.d_ptr;
            for (int i = 0; i < 16; i++)
                table[i] = (void *)0x5a5a5a5a5a;
        }
    puts("through the table");
}

static void spoil_shared(int byte)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    char *from = NULL;
    char *to = NULL;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "rw-s") != NULL && from == NULL)
            sscanf(line, "%p-%p", (void **)&from, (void **)&to);
    if (from == NULL)
        return;
    /* Only the beginning is read by the other process; filling the rest would only take memory. */
    size_t length = to - from < 8 << 20 ? to - from : 8 << 20;
    memset(from, byte, length);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *what = argc > 1 ? argv[1] : "heap";
    pthread_create(&thread, NULL, work, (void *)2);
    work((void *)1);
    pthread_join(thread, NULL);
    if (first != 2)
        return 0;
    if (strcmp(what, "heap") == 0)
        spoil_heap();
    else if (strcmp(what, "got") == 0)
        spoil_table();
    else
        spoil_shared(atoi(what));
    return 0;
}

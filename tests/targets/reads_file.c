/* Reads a part of its executable file into the middle of a large buffer,
 * twice: a system call writes to pages that were never touched. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static char memory[16 << 20];
static const char *path;

static void *read_it(void *where)
{
    char *to = where;
    int file = open(path, O_RDONLY);
    /* As at the start of each execution. */
    assert(to[0] == 0 && to[9999] == 0);
    assert(read(file, to, 10000) == 10000 && !memcmp(to, "\177ELF", 4));
    close(file);
    return NULL;
}

int main(int argc, char **argv)
{
    (void)argc;
    path = argv[0];
    pthread_t one, two;
    pthread_create(&one, NULL, read_it, memory + (5 << 20));
    pthread_create(&two, NULL, read_it, memory + (9 << 20) + 123);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(memory[1 << 20] == 0);
    return 0;
}

/* Leaves a file open, memory mapped and a signal ignored, and checks that none of this is left at its next start. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void *turn(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    turns++;
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    struct sigaction found;
    assert(sigaction(SIGUSR1, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
    assert(signal(SIGPIPE, SIG_IGN) == SIG_DFL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    assert(sigaction(SIGUSR1, &ignore, NULL) == 0);
    assert(sigaction(SIGUSR1, NULL, &found) == 0 && found.sa_handler == SIG_IGN);

    int file = open("/proc/self/exe", O_RDONLY);
    assert(file >= 0 && file < 10);
    char magic[4];
    assert(read(file, magic, 4) == 4 && magic[1] == 'E');
    assert(lseek(file, 0, SEEK_CUR) == 4);

    size_t page = 4096;
    char *map = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(map != MAP_FAILED && map[0] == 0 && map[7 * page] == 0);
    map[0] = map[7 * page] = 1;
    assert(munmap(map + 2 * page, page) == 0);
    assert(mprotect(map + 4 * page, page, PROT_READ) == 0);

    pthread_t one, two;
    pthread_create(&one, NULL, turn, NULL);
    pthread_create(&two, NULL, turn, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(turns == 2);
    return 0;
}

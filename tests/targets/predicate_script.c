// Each argument is the script of a thread, one letter for each action, to compare searches for
// predicates on many small programs.
#include <pthread.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int x, y;

__attribute__((noinline)) static void here(int done) { __asm__ volatile("" : : "r"(done) : "memory"); }
__attribute__((noinline)) static void there(int done) { __asm__ volatile("" : : "r"(done) : "memory"); }

static void *play(void *arg) {
    const char *script = arg;
    int done = 0;
    for (; *script; script++, done++) {
        switch (*script) {
        case 'l': pthread_mutex_lock(&m); break;
        case 'u': pthread_mutex_unlock(&m); break;
        case 'x': x = x + 1; break;
        case 'y': y = x; break;
        case 'z': y = y + 2; break;
        case 'c': if (x == y) x = 5; break;
        case 'a': here(done); break;
        case 'b': there(done); break;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t all[8];
    int threads = argc - 1 < 8 ? argc - 1 : 8;
    for (int i = 0; i < threads; i++) {
        pthread_create(&all[i], NULL, play, argv[i + 1]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i], NULL);
    }
    return 0;
}

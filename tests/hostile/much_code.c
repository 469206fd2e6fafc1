/* A program with more code than can be decoded at once. "locks": two threads acquire two locks in opposite
   orders. "counts": two threads change a counter without a lock. "alone": there are no other threads. Otherwise
   there is no bug. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

/* 100,000 functions, each with two accesses to memory. */
__asm__(".text\n"
        ".rept 100000\n"
        ".p2align 4\n"
        ".cfi_startproc\n"
        "mov (%rdi), %rax\n"
        "add %rdx, (%rsi)\n"
        "lea 0x12345678(%rax), %rax\n"
        "lea 0x12345678(%rax), %rax\n"
        "ret\n"
        ".cfi_endproc\n"
        ".endr\n");

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static int has_locks, has_counter;

static void *work(void *backwards)
{
    pthread_mutex_t *outer = has_locks && backwards ? &second : &first;
    pthread_mutex_t *inner = has_locks && backwards ? &first : &second;
    pthread_mutex_lock(outer);
    pthread_mutex_lock(inner);
    pthread_mutex_unlock(inner);
    pthread_mutex_unlock(outer);
    if (has_counter)
        counter = counter + 1;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t one, other;
    has_locks = argc > 1 && strcmp(argv[1], "locks") == 0;
    has_counter = argc > 1 && strcmp(argv[1], "counts") == 0;
    if (argc > 1 && strcmp(argv[1], "alone") == 0)
        return 0;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&other, NULL, work, &has_locks);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert(!has_counter || counter == 2);
    return 0;
}

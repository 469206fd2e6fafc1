// The program makes the system call read itself, twice, into a variable that main reads: the first can be seen.
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int p[2];
static volatile int x;
static long receive(int from, volatile void *to, long size) {
    long result;
    asm volatile("syscall"
                 : "=a"(result)
                 : "0"(SYS_read), "D"(from), "S"(to), "d"(size)
                 : "rcx", "r11", "memory");
    return result;
}
static void *worker(void *u) {
    receive(p[0], &x, 4);
    receive(p[0], &x, 4);
    return u;
}
int main(void) {
    int values[2] = {1, 0};
    pipe(p);
    write(p[1], values, 8);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int c = x;
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}

// A program without a bug, some of whose memory accesses cannot be instrumented: PART selects why.

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

#ifdef GENERATED
static void part(void) {
    // mov eax, 1; ret
    const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3};
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(page != MAP_FAILED);
    memcpy(page, code, sizeof code);
    assert(((int (*)(void))page)() == 1);
    munmap(page, 4096);
}
#elif defined CHANGED
__attribute__((noinline, aligned(4096))) static int answer(void) {
    __asm__ volatile("");
    return 41;
}
static void part(void) {
    unsigned char *code = (unsigned char *)answer;
    assert(mprotect(code, 64, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    for (int i = 0; i < 60; i++) {
        if (code[i] == 0xb8) {
            code[i + 1] = 42; // mov eax, 42
            break;
        }
    }
    assert(mprotect(code, 64, PROT_READ | PROT_EXEC) == 0);
    assert(answer() == 42);
}
#elif defined BITS
static int bits[64];
static void part(void) {
    long at = 77;
    __asm__ volatile("btsq %1, %0" : "+m"(bits) : "r"(at) : "cc");
}
#elif defined STATE
static char state[512] __attribute__((aligned(16)));
static void part(void) {
    __asm__ volatile("fxsave64 %0" : "=m"(state));
}
#elif defined MANY
// The branch targets are not known for certain, and the instructions are short, so no jump probe fits.
static volatile int sum[2];
static void part(void) {
    static void *const to[] = {&&even, &&odd};
    volatile int *at = sum;
    __asm__("" : "+r"(at));
    int i = 0;
next:
    if (i == 20000)
        return;
    goto *to[i++ % 2];
even:
    *at = i;
    goto next;
odd:
    i += *at & 0;
    goto next;
}
#else
static void part(void) {
}
#endif

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    shared++;
    part();
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    worker(0);
    pthread_join(thread, 0);
    assert(shared == 2);
}

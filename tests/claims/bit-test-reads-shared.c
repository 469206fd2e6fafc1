// A bit far beyond the operand of a bit test is changed for a moment by another thread: that can be seen.
#include <pthread.h>
#include <stdlib.h>
static unsigned long bits[64];
static void *flicker(void *u) { volatile unsigned long *v = bits; v[10] = 8; v[10] = 0; return u; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, flicker, 0);
    unsigned char r; long n = 643;
    asm volatile("btq %2, %1; setc %0" : "=r"(r) : "m"(bits[0]), "r"(n) : "memory");
    pthread_join(a, 0);
    if (r) abort();
    return 0;
}

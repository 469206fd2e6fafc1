// A byte is looked up in a table by xlat while another thread changes it for a moment: that can be seen.
#include <pthread.h>
#include <stdlib.h>
static unsigned char table[256];
static void *flicker(void *u) { volatile unsigned char *v = table; v[77] = 1; v[77] = 0; return u; }
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, flicker, 0);
    unsigned char r = 77;
    unsigned char *t = table;
    asm volatile("xlatb" : "+a"(r) : "b"(t) : "memory");
    pthread_join(a, 0);
    if (r) abort();
    return 0;
}

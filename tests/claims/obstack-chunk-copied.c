#include "two_threads.h"

#include <obstack.h>
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free
static struct obstack o;
static volatile char *p;
static char big[8000];

static void *a(void *unused) {
    obstack_grow(&o, big, 8000);
    return unused;
}

static void *b(void *unused) {
    p[0] = 'b';
    p[0] = 'a';
    return unused;
}

int main(void) {
    obstack_init(&o);
    obstack_alloc(&o, 64);
    obstack_grow(&o, "a", 1);
    p = obstack_base(&o);
    go(a, b);
    if (*(char *)obstack_base(&o) == 'b') abort();
    return 0;
}

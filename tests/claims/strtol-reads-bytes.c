// The text is "11", "21", or "22".
#include "two_threads.h"

static volatile char text[8] = "11";
static long number;

static void *a(void *unused) {
    number = strtol((char *)text, 0, 10);
    return unused;
}

static void *b(void *unused) {
    text[0] = '2';
    text[1] = '2';
    return unused;
}

int main(void) {
    go(a, b);
    if (number == 12) abort();
    return 0;
}

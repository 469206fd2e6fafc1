// Texts with many arguments are made by snprintf and sprintf in instrumented code: they are unchanged.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *idle(void *u) { return u; }
int main(void) {
    pthread_t a;
    char text[128], other[8];
    pthread_create(&a, 0, idle, 0);
    int length = snprintf(text, sizeof text, "%d %d %d %d %d %s %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %d", 1, 2, 3,
                          4, 5, "six", 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5, 16);
    if (length != (int)strlen(text)) abort();
    if (strcmp(text, "1 2 3 4 5 six 7.5 8.5 9.5 10.5 11.5 12.5 13.5 14.5 15.5 16")) abort();
    if (snprintf(other, sizeof other, "%s", text) != length || strcmp(other, "1 2 3 4")) abort();
    if (sprintf(text, "%c%ld", 'x', 123456789012L) != 13 || strcmp(text, "x123456789012")) abort();
    pthread_join(a, 0);
    return 0;
}

/* Character classes, case and number formats in threads: the tables behind them are found through the thread. One
   thread also uses its own locale. */
#define _GNU_SOURCE
#include <assert.h>
#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

static void check(void)
{
    char text[64];
    volatile int letter = 'q', digit = '7';
    assert(isalpha(letter) && !isalpha(digit) && isdigit(digit) && isspace('\t'));
    assert(toupper(letter) == 'Q' && tolower('Q') == letter);
    snprintf(text, sizeof text, "%'d %.2f", 1234567, 2.5);
    assert(strcmp(text, "1234567 2.50") == 0);
    assert(strtod("1.25", NULL) == 1.25);
    assert(strcasecmp("Loom", "lOOM") == 0);
}

static void *plain(void *unused)
{
    (void)unused;
    check();
    sched_yield();
    check();
    assert(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
    return NULL;
}

static void *own(void *unused)
{
    (void)unused;
    locale_t mine = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    assert(mine);
    uselocale(mine);
    sched_yield();
    assert(uselocale((locale_t)0) == mine);
    assert(iswalpha(0xe9));
    check();
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(mine);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    assert(setlocale(LC_ALL, "C"));
    pthread_create(&thread[0], NULL, plain, NULL);
    pthread_create(&thread[1], NULL, own, NULL);
    check();
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    check();
    puts("same letters everywhere");
    return 0;
}

/* A thread that calls functions of the C library while another one waits. The argument says which: functions whose
   effects are all known, or a stream in memory, whose later accesses to its buffer are not. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static void *known(void *unused)
{
    (void)unused;
    char *copy = strdup("copy"), printed[32];
    wchar_t *wide = wcsdup(L"wide"), other[8];
    assert(!wcscmp(wide, L"wide") && wcslen(wcscpy(other, wide)) == 4 && wcstol(L"12", NULL, 10) == 12);
    assert(snprintf(printed, sizeof printed, "%s %d", copy, 7) == 6 && strtol(printed + 5, NULL, 10) == 7);
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/self/comm", "r");
    assert(file && getline(&line, &room, file) > 1 && strchr(line, '\n'));
    fclose(file);
    free(line);
    free(copy);
    free(wide);
    return NULL;
}

static void *stream(void *unused)
{
    (void)unused;
    char *line = NULL, text[] = "a line\nanother\n";
    size_t room = 0;
    FILE *file = fmemopen(text, sizeof text - 1, "r");
    assert(getline(&line, &room, file) == 7 && !strcmp(line, "a line\n"));
    fclose(file);
    free(line);
    return NULL;
}

int main(int count, char **args)
{
    pthread_t thread;
    pthread_create(&thread, NULL, count > 1 && !strcmp(args[1], "stream") ? stream : known, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* Changes a file outside of the working directory, in the way that the first argument names; the second
 * is the file's path. Two threads have a race if the file was not there. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int count;

static void *increment(void *unused)
{
    int seen = count;
    count = seen + 1;
    return unused;
}

static void write_file(const char *path, int flags)
{
    int file = open(path, O_WRONLY | flags, 0600);
    assert(file >= 0 && write(file, "x", 1) == 1 && !close(file));
}

/* Returns whether the threads are to run. */
static int change(const char *way, const char *path)
{
    char other[300];
    struct stat status;
    snprintf(other, sizeof other, "%s.new", path);
    if (!strcmp(way, "exclusive"))
        return open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
    if (!strcmp(way, "directory"))
        return !mkdir(path, 0700);
    if (!strcmp(way, "relative")) {
        char *name = strrchr(strcpy(other, path), '/');
        *name = 0;
        assert(!chdir(other));
        return open(name + 1, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
    }
    if (!strcmp(way, "looked")) {
        int absent = stat(path, &status) < 0;
        write_file(path, O_CREAT | O_TRUNC);
        return absent;
    }
    if (!strcmp(way, "appended"))
        write_file(path, O_CREAT | O_APPEND);
    else if (!strcmp(way, "written"))
        write_file(path, O_CREAT | O_TRUNC);
    else if (!strcmp(way, "temporary")) {
        write_file(path, O_CREAT | O_EXCL);
        assert(!unlink(path));
    } else if (!strcmp(way, "renamed")) {
        write_file(other, O_CREAT | O_TRUNC);
        assert(!rename(other, path));
    } else
        abort();
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    assert(argc == 3);
    if (!change(argv[1], argv[2]))
        count = 10;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, increment, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(count != 1);
    return 0;
}

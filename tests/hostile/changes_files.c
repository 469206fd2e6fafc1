/* Each execution expects the working directory as it was before the first one: creates a file and a
 * directory that must not exist, changes a file that must have its first contents, removes, renames and
 * links others. Two threads then append to one file without a lock; with an argument, an order of the
 * appends fails. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int log_file;
static int argument;

static void *append(void *name)
{
    assert(write(log_file, name, 1) == 1);
    return NULL;
}

static void expect(const char *path, const char *text)
{
    char read_back[64] = "";
    int file = open(path, O_RDONLY);
    assert(file >= 0 && read(file, read_back, sizeof read_back - 1) >= 0);
    assert(strcmp(read_back, text) == 0);
    close(file);
}

int main(int argc, char **argv)
{
    (void)argv;
    argument = argc > 1;
    expect("kept", "first\n");
    int kept = open("kept", O_WRONLY | O_TRUNC);
    assert(kept >= 0 && write(kept, "second", 6) == 6);
    close(kept);
    assert(mkdir("made", 0700) == 0);
    log_file = open("made/log", O_CREAT | O_EXCL | O_RDWR, 0600);
    assert(log_file >= 0);
    assert(unlink("removed") == 0);
    assert(rename("named", "renamed") == 0);
    assert(link("renamed", "linked") == 0);
    assert(chmod("below/plain", 0400) == 0);
    pthread_t one, two;
    pthread_create(&one, NULL, append, "1");
    pthread_create(&two, NULL, append, "2");
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    expect("kept", "second");
    char order[3] = "";
    assert(pread(log_file, order, 2, 0) == 2);
    assert(!argument || strcmp(order, "21") != 0);
    return 0;
}

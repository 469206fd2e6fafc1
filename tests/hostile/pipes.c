// Threads that pass bytes through pipes; the first argument says which.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *name = "bytes";
static int ends[2], answers[2], sums[2], left = 2;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int open_end(int which) {
    return strcmp(name, "named") ? ends[which] : open("pipe", which ? O_WRONLY : O_RDONLY);
}

// The last of two threads closes an end.
static void close_last(int end) {
    pthread_mutex_lock(&mutex);
    if (--left == 0) {
        close(end);
    }
    pthread_mutex_unlock(&mutex);
}

// Reads byte by byte until the end.
static void *reads(void *number) {
    int end = open_end(0);
    char byte;
    while (read(end, &byte, 1) == 1) {
        sums[(long)number] += byte;
    }
    return NULL;
}

static void *writes_three(void *unused) {
    int end = open_end(1);
    for (char byte = 1; byte <= 3; byte++) {
        assert(write(end, &byte, 1) == 1);
    }
    close(end);
    return unused;
}

static void *writes_two(void *number) {
    char byte = (char)(long)number + 1;
    assert(write(ends[1], &byte, 1) == 1 && write(ends[1], &byte, 1) == 1);
    close_last(ends[1]);
    return NULL;
}

static void *writes_text(void *unused) {
    assert(write(ends[1], "ab", 2) == 2 && write(ends[1], "cde", 3) == 3);
    close(ends[1]);
    return unused;
}

// The same where each call has its bytes in two parts.
static void *writes_parts(void *unused) {
    struct iovec first[] = {{"a", 1}, {"b", 1}}, second[] = {{"c", 1}, {"de", 2}};
    assert(writev(ends[1], first, 2) == 2 && writev(ends[1], second, 2) == 3);
    close(ends[1]);
    return unused;
}

// A call of which Heddle does not know what it writes.
static void *writes_at_position(void *unused) {
    char byte = 2;
    struct iovec part = {&byte, 1};
    assert(pwritev2(ends[1], &part, 1, -1, 0) == 1);
    return unused;
}

static void *serves(void *unused) {
    int request;
    while (read(ends[0], &request, sizeof request) == sizeof request) {
        request *= 2;
        assert(write(answers[1], &request, sizeof request) == sizeof request);
    }
    close_last(answers[1]);
    return unused;
}

// One byte is there before the threads, and a larger read than that finds more or not.
static void *writes_second(void *unused) {
    assert(write(ends[1], "b", 1) == 1);
    return unused;
}

static void two(void *(*first)(void *), void *(*second)(void *), void (*in_main)(void)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    if (second) {
        pthread_create(&threads[1], NULL, second, (void *)1);
    }
    if (in_main) {
        in_main();
    }
    pthread_join(threads[0], NULL);
    if (second) {
        pthread_join(threads[1], NULL);
    }
}

static void give_two(void) {
    for (char byte = 1; byte <= 2; byte++) {
        assert(write(ends[1], &byte, 1) == 1);
    }
    close(ends[1]);
}

static void take_four(void) {
    char byte;
    while (read(ends[0], &byte, 1) == 1) {
        sums[0] = sums[0] * 10 + byte;
    }
}

static void take_text(void) {
    char text[64];
    ssize_t count;
    while ((count = read(ends[0], text, sizeof text)) > 0) {
        sums[0] = sums[0] * 10 + (int)count;
    }
}

static void take_parts(void) {
    char text[64];
    struct iovec parts[] = {{text, 1}, {text + 1, 63}};
    ssize_t count;
    while ((count = readv(ends[0], parts, 2)) > 0) {
        sums[0] = sums[0] * 10 + (int)count;
    }
}

static void give_and_take_one(void) {
    char byte = 1;
    assert(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
    sums[0] = byte;
}

static void request_two(void) {
    for (int request = 1; request <= 2; request++) {
        assert(write(ends[1], &request, sizeof request) == sizeof request);
    }
    close(ends[1]);
    for (int answer; read(answers[0], &answer, sizeof answer) == sizeof answer;) {
        sums[0] = sums[0] * 10 + answer;
    }
}

static void take_two(void) {
    char text[2];
    sums[0] = (int)read(ends[0], text, sizeof text);
}

int main(int count, char **arguments) {
    name = count > 1 ? arguments[1] : name;
    int wanted = count > 2 ? atoi(arguments[2]) : -1;
    assert(pipe(ends) == 0 && pipe(answers) == 0);
    if (!strcmp(name, "bytes")) {
        two(reads, writes_three, NULL);
    } else if (!strcmp(name, "named")) {
        assert(mkfifo("pipe", 0600) == 0);
        two(reads, writes_three, NULL);
        unlink("pipe");
    } else if (!strcmp(name, "readers")) {
        two(reads, reads, give_two);
        sums[0] = sums[0] * 10 + sums[1];
    } else if (!strcmp(name, "writers")) {
        two(writes_two, writes_two, take_four);
    } else if (!strcmp(name, "text")) {
        two(writes_text, NULL, take_text);
    } else if (!strcmp(name, "parts")) {
        two(writes_parts, NULL, take_parts);
    } else if (!strcmp(name, "position")) {
        two(writes_at_position, NULL, give_and_take_one);
    } else if (!strcmp(name, "servers")) {
        two(serves, serves, request_two);
    } else if (!strcmp(name, "second")) {
        assert(write(ends[1], "a", 1) == 1);
        two(writes_second, NULL, take_two);
    }
    assert(sums[0] != wanted);
    return 0;
}

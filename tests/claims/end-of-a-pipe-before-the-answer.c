// Two threads answer requests until the pipe ends; each closes the other pipe then, also while the other still answers.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int requests[2], answers[2];

static void *serves(void *unused) {
    char byte;
    while (read(requests[0], &byte, 1) == 1) {
        if (write(answers[1], &byte, 1) != 1) {
            abort();
        }
    }
    close(answers[1]);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    if (pipe(requests) || pipe(answers)) {
        return 3;
    }
    pthread_create(&threads[0], NULL, serves, NULL);
    pthread_create(&threads[1], NULL, serves, NULL);
    if (write(requests[1], "a", 1) != 1) {
        return 3;
    }
    close(requests[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}

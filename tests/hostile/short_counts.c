// Eight bytes over a TCP connection. `once` expects them from one read, `loop` reads until it has all;
// `sent` expects that a write which does not wait takes all, and `rest` writes the rest.
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int client, server;
static const char *mode;

static void *writer(void *unused) {
    const char *bytes = "eight by";
    int does_not_wait = !strcmp(mode, "sent") || !strcmp(mode, "rest");
    size_t done = send(client, bytes, 8, does_not_wait ? MSG_DONTWAIT : 0);
    while (!strcmp(mode, "rest") && done < 8)
        done += send(client, bytes + done, 8 - done, MSG_DONTWAIT);
    assert(done == 8 && "all is sent");
    return unused;
}

int main(int argc, char **argv) {
    mode = argc > 1 ? argv[1] : "once";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, size) || listen(listener, 1)) return 3;
    if (getsockname(listener, (void *)&address, &size)) return 3;
    client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (void *)&address, size)) return 3;
    server = accept(listener, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    // Only what the kernel does with bytes that are all there is of interest.
    pthread_join(thread, 0);
    char bytes[9] = "";
    size_t got = 0;
    if (!strcmp(mode, "once"))
        got = read(server, bytes, 8);
    while (strcmp(mode, "once") && got < 8)
        got += read(server, bytes + got, 8 - got);
    assert(got == 8 && "all is received");
    return strcmp(bytes, "eight by") != 0;
}

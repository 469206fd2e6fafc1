// The same through a connection over TCP, whose two ends know each other by their addresses only.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
static int client;
static void *writer(void *u) {
    if (write(client, "a", 1) != 1 || write(client, "b", 1) != 1) exit(3);
    return u;
}
int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, size) || listen(listener, 1)) return 3;
    if (getsockname(listener, (void *)&address, &size)) return 3;
    client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (void *)&address, size)) return 3;
    int server = accept(listener, 0, 0);
    char bytes[2];
    pthread_t a;
    pthread_create(&a, 0, writer, 0);
    if (read(server, bytes, 2) != 2) abort();
    pthread_join(a, 0);
    return 0;
}

/* Each thread takes the lock of its inode and finds a free block for it, starting at its own
   position. Up to thirteen threads never conflict. */
#include <pthread.h>
#include <stdlib.h>

#define INODES 32
#define BLOCKS 26
#ifndef TYPE
#define TYPE long
#endif

static pthread_mutex_t inode_lock[INODES], block_lock[BLOCKS];
static TYPE inode[INODES], busy[BLOCKS];

static void *allocate(void *arg) {
    long me = (long)arg;
    pthread_mutex_lock(&inode_lock[me]);
    if (inode[me] == 0) {
        for (long b = 2 * me % BLOCKS;; b = (b + 1) % BLOCKS) {
            pthread_mutex_lock(&block_lock[b]);
            if (!busy[b]) {
                busy[b] = 1;
                inode[me] = b + 1;
                pthread_mutex_unlock(&block_lock[b]);
                break;
            }
            pthread_mutex_unlock(&block_lock[b]);
        }
    }
    pthread_mutex_unlock(&inode_lock[me]);
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t ids[INODES];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, allocate, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

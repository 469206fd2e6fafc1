// A vector load with a mask reads the one word that another thread changes for a moment: that can be seen.
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
static int words[8] __attribute__((aligned(32)));
static volatile int flag;
static void *flicker(void *u) { volatile int *v = words; v[5] = 1; v[5] = 0; return u; }
int main(int n, char **v) {
    pthread_t a;
    int m[8] = {0,0,0,0,0,-n,0,0};
    pthread_create(&a, 0, flicker, 0);
    __m256i mask = _mm256_loadu_si256((void*)m);
    int out[8];
    _mm256_storeu_si256((void *)out, _mm256_maskload_epi32(words, mask));
    pthread_join(a, 0);
    if (out[5]) abort();
    return 0;
}

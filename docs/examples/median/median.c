/* Median of 3 x 3 x 3 voxels of a stack in NumPy's format (uint16, frames x rows x columns).
 *
 *   cc -O2 -fopenmp median.c -o median
 *   ./median IN.npy OUT.npy
 *
 * OpenMP takes its threads from OMP_NUM_THREADS; they share the rows, and edges repeat outwards.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 10 /* Bytes of the magic, the version and the length of the header. */

static void fail(const char *what, const char *path) {
    fprintf(stderr, "median: %s %s\n", what, path);
    exit(1);
}

static int smaller(const void *a, const void *b) {
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static long within(long at, long length) {
    return at < 0 ? 0 : at >= length ? length - 1 : at;
}

int main(int count, char **words) {
    if (count != 3) fail("usage: median IN.npy OUT.npy, and not", words[0]);
    unsigned char first[FIRST];
    FILE *in = fopen(words[1], "rb");
    if (!in || fread(first, 1, FIRST, in) != FIRST || memcmp(first, "\x93NUMPY\x01", 7))
        fail("no NumPy file of version 1:", words[1]);
    size_t told = first[8] | first[9] << 8;
    char *header = calloc(told + 1, 1);
    if (!header || fread(header, 1, told, in) != told) fail("cut short:", words[1]);
    long t, y, x;
    char *shape = strstr(header, "'shape': (");
    if (!strstr(header, "'<u2'") || !strstr(header, "'fortran_order': False") || !shape ||
        sscanf(shape, "'shape': (%ld, %ld, %ld)", &t, &y, &x) != 3)
        fail("no stack of uint16:", words[1]);
    size_t voxels = (size_t)t * y * x;
    uint16_t *from = malloc(voxels * 2), *to = malloc(voxels * 2);
    if (!from || !to || fread(from, 2, voxels, in) != voxels) fail("cut short:", words[1]);
    fclose(in);

#pragma omp parallel for collapse(2) schedule(static)
    for (long k = 0; k < t; k++)
        for (long j = 0; j < y; j++)
            for (long i = 0; i < x; i++) {
                uint16_t near[27];
                int n = 0;
                for (long c = k - 1; c <= k + 1; c++)
                    for (long b = j - 1; b <= j + 1; b++)
                        for (long a = i - 1; a <= i + 1; a++)
                            near[n++] =
                                from[(within(c, t) * y + within(b, y)) * x + within(a, x)];
                qsort(near, 27, sizeof *near, smaller);
                to[(k * y + j) * x + i] = near[13];
            }

    FILE *out = fopen(words[2], "wb");
    if (!out || fwrite(first, 1, FIRST, out) != FIRST || fwrite(header, 1, told, out) != told ||
        fwrite(to, 2, voxels, out) != voxels || fclose(out))
        fail("cannot write", words[2]);
    return 0;
}

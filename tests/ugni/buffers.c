/* Buffers that come and go: registrations are kept from one message to the next, and must end with their memory.
 * Large messages from memory that is mapped, unmapped, grown, given back and mapped again at the same addresses, from
 * static memory, and from memory that MPI gave out. Prints one line per kind of memory. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS = 30, BYTES = 3 << 20 };

static int rank, size;
static unsigned char fixed[BYTES];

/* A ring: every rank sends `bytes` of value `value` + rank and receives its left neighbour's. */
static int ring(unsigned char *out, unsigned char *in, int bytes, int value)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    memset(out, value + rank, bytes);
    memset(in, 0xff, bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, value, in, bytes, MPI_BYTE, left, value, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    unsigned char expected = value + left;
    for (int i = 0; i < bytes; i++)
        if (in[i] != expected)
            return 0;
    return 1;
}

static void *mapped(void *where)
{
    int fixed_place = where ? MAP_FIXED : 0;
    void *memory = mmap(where, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed_place, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

static void report(const char *what, int good)
{
    int all;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s\n", all ? "ok" : "FAIL", what);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *in = malloc(BYTES);

    int good = 1;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char *block = malloc(BYTES);
        good &= ring(block, in, BYTES, i);
        block = realloc(block, BYTES / 2);
        good &= ring(block, in, BYTES / 2, i + 1);
        free(block);
    }
    report("malloc, realloc, free", good);

    good = 1;
    void *place = mapped(NULL);
    for (int i = 0; i < ROUNDS; i++) {
        good &= ring(place, in, BYTES, i);
        if (i % 3 == 0)
            munmap(place, BYTES);
        if (i % 3 == 1)
            munmap(mremap(place, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, mapped(NULL)), BYTES);
        if (i % 3 == 2)
            madvise(place, BYTES, MADV_DONTNEED);
        else
            place = mapped(place);
    }
    report("munmap, mremap, madvise, and memory at the same address again", good);

    good = 1;
    for (int i = 0; i < ROUNDS; i++)
        good &= ring(fixed, in, BYTES, i);
    report("static memory", good);

    good = 1;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char *out, *other;
        MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &out);
        MPI_Alloc_mem(1000, MPI_INFO_NULL, &other);
        memset(other, 1, 1000);
        good &= ring(out, in, BYTES, i);
        MPI_Free_mem(out);
        for (int k = 0; k < 1000; k++)
            good &= other[k] == 1;
        MPI_Free_mem(other);
    }
    report("memory of MPI_Alloc_mem", good);

    free(in);
    MPI_Finalize();
    return 0;
}

/* One job of programs that were built for different MPI libraries: each sends each a value of every basic datatype, and looks at what
 * comes and at its status. */
#include <complex.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int rank, size, wrong;

#define CHECK(what) \
    do { \
        if (!(what)) printf("rank %d, line %d: %s\n", rank, __LINE__, #what), wrong++; \
    } while (0)

static void look(MPI_Status *status, int source, int tag, MPI_Datatype type, int count) {
    int items = -1, elements = -1, cancelled = -1;
    MPI_Get_count(status, type, &items);
    MPI_Get_elements(status, type, &elements);
    MPI_Test_cancelled(status, &cancelled);
    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && items == count && !cancelled);
    CHECK(elements >= count);
}

/* Three items of a type, whose bytes both sides know: round the ring by all modes. */
static void exchange(MPI_Datatype type, const void *values, int bytes) {
    char got[3 * 64];
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Status status, both[2];
    MPI_Request requests[2];
    memset(got, 0, sizeof got);
    MPI_Irecv(got, 3, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(values, 3, type, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, both);
    look(&both[0], previous, 7, type, 3);
    CHECK(memcmp(got, values, 3 * bytes) == 0);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);

    memset(got, 0, sizeof got);
    MPI_Sendrecv(values, 2, type, next, 8, got, 3, type, previous, 8, MPI_COMM_WORLD, &status);
    look(&status, previous, 8, type, 2);
    CHECK(memcmp(got, values, 2 * bytes) == 0);

    memset(got, 0, sizeof got);
    if (rank == 0) memcpy(got, values, 3 * bytes);
    MPI_Bcast(got, 3, type, 0, MPI_COMM_WORLD);
    CHECK(memcmp(got, values, 3 * bytes) == 0);
}

#define EXCHANGE(type, ctype, a, b, c) \
    do { \
        ctype values[3]; \
        memset(values, 0, sizeof values); \
        values[0] = a, values[1] = b, values[2] = c; \
        exchange(type, values, sizeof(ctype)); \
    } while (0)
#define INTEGERS(type, ctype) EXCHANGE(type, ctype, 1, 77, (ctype)-3)

/* What ends at a type of another library's number is seen by its result. */
static void reduce(void) {
    struct { double value; int at; } pair = {rank == size - 1 ? 9.5 : rank, rank}, most;
    int all = -1, bits = 1 << rank, first = rank + 1;
    double product = 0, mine = rank + 1.0;
    MPI_Allreduce(&first, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == size * (size + 1) / 2);
    MPI_Allreduce(&bits, &all, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    CHECK(all == (1 << size) - 1);
    MPI_Allreduce(&mine, &product, 1, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
    CHECK(product == (size == 3 ? 6.0 : product));
    MPI_Allreduce(&pair, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(most.value == 9.5 && most.at == size - 1);
}

/* Special ranks and errors, in each program's own numbers. */
static void edges(void) {
    int data[2] = {rank, rank}, class = -1, code;
    MPI_Status status;
    MPI_Recv(data, 2, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(data, 2, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD);
    code = MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    code = MPI_Send(data, 1, MPI_INT, size, 9, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_RANK);
}

/* A window over all. */
static void window(void) {
    int cell = -1, flag = 0, *model;
    MPI_Win win;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE));
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(cell == (rank + size - 1) % size);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    int all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    INTEGERS(MPI_CHAR, char);
    INTEGERS(MPI_SIGNED_CHAR, signed char);
    INTEGERS(MPI_UNSIGNED_CHAR, unsigned char);
    INTEGERS(MPI_BYTE, unsigned char);
    INTEGERS(MPI_SHORT, short);
    INTEGERS(MPI_UNSIGNED_SHORT, unsigned short);
    INTEGERS(MPI_INT, int);
    INTEGERS(MPI_UNSIGNED, unsigned);
    INTEGERS(MPI_LONG, long);
    INTEGERS(MPI_UNSIGNED_LONG, unsigned long);
    INTEGERS(MPI_LONG_LONG, long long);
    INTEGERS(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    INTEGERS(MPI_INT8_T, int8_t);
    INTEGERS(MPI_INT16_T, int16_t);
    INTEGERS(MPI_INT32_T, int32_t);
    INTEGERS(MPI_INT64_T, int64_t);
    INTEGERS(MPI_UINT8_T, uint8_t);
    INTEGERS(MPI_UINT16_T, uint16_t);
    INTEGERS(MPI_UINT32_T, uint32_t);
    INTEGERS(MPI_UINT64_T, uint64_t);
    INTEGERS(MPI_AINT, MPI_Aint);
    INTEGERS(MPI_OFFSET, MPI_Offset);
    INTEGERS(MPI_COUNT, MPI_Count);
    INTEGERS(MPI_WCHAR, wchar_t);
    INTEGERS(MPI_INTEGER, int);
    INTEGERS(MPI_LOGICAL, int);
    INTEGERS(MPI_INTEGER8, int64_t);
    EXCHANGE(MPI_C_BOOL, _Bool, 1, 0, 1);
    EXCHANGE(MPI_FLOAT, float, 1.5f, -2.25f, 1e30f);
    EXCHANGE(MPI_DOUBLE, double, 1.5, -2.25, 1e300);
    EXCHANGE(MPI_REAL, float, 1.5f, -2.25f, 1e30f);
    EXCHANGE(MPI_DOUBLE_PRECISION, double, 1.5, -2.25, 1e300);
    EXCHANGE(MPI_C_FLOAT_COMPLEX, float complex, 1.5f, 2.0f * I, 1.0f - I);
    EXCHANGE(MPI_C_DOUBLE_COMPLEX, double complex, 1.5, 2.0 * I, 1.0 - I);
    EXCHANGE(MPI_COMPLEX, float complex, 1.5f, 2.0f * I, 1.0f - I);
    reduce();
    edges();
    window();
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0 && all == 0) puts("ok mixed");
    return all != 0;
}

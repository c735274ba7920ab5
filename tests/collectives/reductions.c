/* Reductions and scans, against the operation applied in rank order by every rank alone. */
#include "collectives.h"

static const int counts[] = {0, 1, 13, 1000, 30000};
static int mode, count;

/* How an operation works on one element of `words` ints: result = left op right. */
struct operation {
    const char *name;
    MPI_Op op;
    MPI_Datatype type;
    int words;
    void (*apply)(const int *left, const int *right, int *result);
};

static const struct operation *tested;

static void sum(const int *l, const int *r, int *out) { *out = (int)((unsigned)*l + (unsigned)*r); }
static void max(const int *l, const int *r, int *out) { *out = *l > *r ? *l : *r; }

static void minloc(const int *l, const int *r, int *out)
{
    const int *less = l[0] < r[0] || (l[0] == r[0] && l[1] < r[1]) ? l : r;
    int value = less[0], place = less[1];
    out[0] = value;
    out[1] = place;
}

/* 2 × 2 matrices over a small prime: associative, not commutative. */
static void multiply(const int *l, const int *r, int *out)
{
    enum { PRIME = 9973 };
    int a = (l[0] * r[0] + l[1] * r[2]) % PRIME, b = (l[0] * r[1] + l[1] * r[3]) % PRIME;
    int c = (l[2] * r[0] + l[3] * r[2]) % PRIME, d = (l[2] * r[1] + l[3] * r[3]) % PRIME;
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

static int callback_saw_its_type = 1;

static void user_sum(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int i, bytes;
    MPI_Type_size(*type, &bytes); /* local calls are allowed */
    callback_saw_its_type &= bytes == (int)sizeof(int);
    for (i = 0; i < *len; i++)
        sum((int *)in + i, (int *)inout + i, (int *)inout + i);
}

static void user_multiply(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    MPI_Count i;
    (void)type;
    for (i = 0; i < *len; i++)
        multiply((int *)in + 4 * i, (int *)inout + 4 * i, (int *)inout + 4 * i);
}

/* What rank `from` contributes at word `i`. */
static int contribution(int from, int i)
{
    return tested->apply == minloc && i % 2 ? from : (int)((from * 7919u + i * 104729u + 17u) % 9973u);
}

static int *contribute(int from, int elements)
{
    int n = elements * tested->words, i, *buffer = malloc(((size_t)n + 1) * sizeof *buffer);
    for (i = 0; i < n; i++)
        buffer[i] = contribution(from, i);
    return buffer;
}

/* The operation over the contributions of ranks 0 to `last`, in order. */
static int *expect(int last, int elements)
{
    int *result = contribute(0, elements), *next, r, i;
    for (r = 1; r <= last; r++) {
        next = contribute(r, elements);
        for (i = 0; i < elements * tested->words; i += tested->words)
            tested->apply(result + i, next + i, result + i);
        free(next);
    }
    return result;
}

static int same(const int *one, const int *other, int elements)
{
    return memcmp(one, other, (size_t)elements * tested->words * sizeof *one) == 0;
}

static void refill(int *buffer, int elements)
{
    int *fresh = contribute(rank, elements);
    memcpy(buffer, fresh, (size_t)elements * tested->words * sizeof *fresh);
    free(fresh);
}

/* Calls with a whole vector in and, from `where` on, `out` elements of the result. */
static int check_vector(const int *result, int last, int elements, int where, int out)
{
    int *expected = expect(last, elements), good;
    good = same(result, expected + where * tested->words, out);
    free(expected);
    return good;
}

static int test_reduce(int root, int in_place)
{
    int *mine = contribute(rank, count), *result = contribute(rank, count), good;
    in_place = in_place && rank == root;
    RUN(mode, refill(result, count), Reduce, reduce, in_place ? MPI_IN_PLACE : mine, rank == root ? result : NULL, count,
        tested->type, tested->op, root, MPI_COMM_WORLD);
    good = rank != root || check_vector(result, size - 1, count, 0, count);
    free(mine);
    free(result);
    return good;
}

#define ON_ALL(name, Upper, lower, last, good_without)                                                        \
    static int name(int in_place)                                                                             \
    {                                                                                                         \
        int *mine = contribute(rank, count), *result = contribute(rank, count), good;                         \
        RUN(mode, refill(result, count), Upper, lower, in_place ? MPI_IN_PLACE : mine, result, count,         \
            tested->type, tested->op, MPI_COMM_WORLD);                                                        \
        good = (good_without) || check_vector(result, last, count, 0, count);                                 \
        free(mine);                                                                                           \
        free(result);                                                                                         \
        return good;                                                                                          \
    }

ON_ALL(test_allreduce, Allreduce, allreduce, size - 1, 0)
ON_ALL(test_scan, Scan, scan, rank, 0)
ON_ALL(test_exscan, Exscan, exscan, rank - 1, rank == 0)

static int test_reduce_scatter_block(int in_place)
{
    int elements = count * size, *mine = contribute(rank, elements), *result = contribute(rank, elements), good;
    RUN(mode, refill(result, elements), Reduce_scatter_block, reduce_scatter_block, in_place ? MPI_IN_PLACE : mine, result,
        count, tested->type, tested->op, MPI_COMM_WORLD);
    good = check_vector(result, size - 1, elements, rank * count, count);
    free(mine);
    free(result);
    return good;
}

static int test_reduce_scatter(int in_place)
{
    int parts[16], before = 0, elements = 0, r, *mine, *result, good;
    for (r = 0; r < size; r++) {
        parts[r] = count * (r % 3);
        before += r < rank ? parts[r] : 0;
        elements += parts[r];
    }
    mine = contribute(rank, elements);
    result = contribute(rank, elements);
    RUN(mode, refill(result, elements), Reduce_scatter, reduce_scatter, in_place ? MPI_IN_PLACE : mine, result, parts,
        tested->type, tested->op, MPI_COMM_WORLD);
    good = check_vector(result, size - 1, elements, before, parts[rank]);
    free(mine);
    free(result);
    return good;
}

static int test_reduce_local(void)
{
    int *left = contribute(0, count), *right = contribute(1, count), good;
    MPI_Reduce_local(left, right, count, tested->type, tested->op);
    good = check_vector(right, 1, count, 0, count);
    free(left);
    free(right);
    return good;
}

int main(int argc, char **argv)
{
    struct operation operations[5] = {
        {"sum", MPI_SUM, MPI_INT, 1, sum},
        {"max", MPI_MAX, MPI_INT, 1, max},
        {"minloc", MPI_MINLOC, MPI_2INT, 2, minloc},
        {"a function that commutes", MPI_OP_NULL, MPI_INT, 1, sum},
        {"a function that does not commute", MPI_OP_NULL, MPI_DATATYPE_NULL, 4, multiply},
    };
    static const char *const calls[] = {"reduce",         "allreduce", "reduce_scatter_block",
                                        "reduce_scatter", "scan",      "exscan"};
    int good[6], o, c, k, root, place, local = 1;
    char name[160];
    start(&argc, &argv);
    MPI_Op_create(user_sum, 1, &operations[3].op);
    MPI_Op_create_c(user_multiply, 0, &operations[4].op);
    MPI_Type_contiguous(4, MPI_INT, &operations[4].type);
    MPI_Type_commit(&operations[4].type);
    for (mode = 0; mode < MODES; mode++) {
        for (o = 0; o < 5; o++) {
            tested = &operations[o];
            for (k = 0; k < 6; k++)
                good[k] = 1;
            for (c = 0; c < 5; c++) {
                count = counts[c];
                for (place = 0; place < 2; place++) {
                    for (root = 0; root < size; root++)
                        TEST(good[0], calls[0], test_reduce(root, place));
                    TEST(good[1], calls[1], test_allreduce(place));
                    TEST(good[2], calls[2], test_reduce_scatter_block(place));
                    TEST(good[3], calls[3], test_reduce_scatter(place));
                    TEST(good[4], calls[4], test_scan(place));
                    TEST(good[5], calls[5], test_exscan(place));
                }
                local &= test_reduce_local();
            }
            for (k = 0; k < 6; k++) {
                if (!wanted(calls[k]))
                    continue;
                snprintf(name, sizeof name, "%s with %s, %s, %d ranks", calls[k], tested->name, mode_names[mode], size);
                verdict(good[k], name);
            }
        }
    }
    verdict(local, "reduce_local");
    verdict(callback_saw_its_type, "a reduction function is given the datatype of the call");
    MPI_Op_free(&operations[3].op);
    MPI_Op_free(&operations[4].op);
    MPI_Type_free(&operations[4].type);
    return finish();
}

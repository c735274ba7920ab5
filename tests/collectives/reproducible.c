/* With coll_reproducible=1: a sum depends only on the multiset of contributed values; products and the program's
 * operations are put together in one way for each number of ranks. */
#include "collectives.h"

enum { N = 40 };

/* Numbers of very different magnitude and sign, so that every order of adding them rounds differently. */
static double number(int which, int i)
{
    static const double scales[] = {1.0, 1e16, -1e16, 3e-9, 1e300, -1e300, 0.1};
    return scales[(which * 3 + i) % 7] * (1 + 0.37 * which + 0.011 * i);
}

/* The sum over `comm` where each rank contributes the numbers of `whose`; also as reduce to every root, scan and
 * reduce_scatter_block, which must agree with it. */
static void sums(MPI_Comm comm, int whose, double *result)
{
    double mine[N], again[N], *blocks;
    int i, root, ranks, me, same = 1;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &me);
    for (i = 0; i < N; i++)
        mine[i] = whose < 0 ? 0.0 : number(whose, i);
    MPI_Allreduce(mine, result, N, MPI_DOUBLE, MPI_SUM, comm);
    for (root = 0; root < ranks; root++) {
        MPI_Reduce(mine, again, N, MPI_DOUBLE, MPI_SUM, root, comm);
        same &= me != root || memcmp(again, result, sizeof again) == 0;
    }
    MPI_Scan(mine, again, N, MPI_DOUBLE, MPI_SUM, comm);
    same &= me != ranks - 1 || memcmp(again, result, sizeof again) == 0;
    blocks = malloc(ranks * sizeof mine);
    for (i = 0; i < ranks; i++)
        memcpy(blocks + i * N, mine, sizeof mine);
    MPI_Reduce_scatter_block(blocks, again, N, MPI_DOUBLE, MPI_SUM, comm);
    same &= memcmp(again, result, sizeof again) == 0;
    memcpy(again, mine, sizeof again);
    MPI_Allreduce(MPI_IN_PLACE, again, N, MPI_DOUBLE, MPI_SUM, comm);
    same &= memcmp(again, result, sizeof again) == 0;
    free(blocks);
    verdict(same, "reduce, scan and reduce_scatter agree with allreduce");
}

/* a op b = a / 2 + b: neither associative nor commutative, so every tree gives another result. */
static void halve(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((double *)inout)[i] = ((double *)in)[i] / 2 + ((double *)inout)[i];
}

static void one_tree(MPI_Op op, const char *name)
{
    double mine[1000], few[1], many[1000], at_root[1000];
    int i, same = 1;
    for (i = 0; i < 1000; i++)
        mine[i] = 1 + 0.37 * rank;
    MPI_Allreduce(mine, few, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    MPI_Allreduce(mine, many, 1000, MPI_DOUBLE, op, MPI_COMM_WORLD);
    MPI_Reduce(mine, at_root, 1000, MPI_DOUBLE, op, size - 1, MPI_COMM_WORLD);
    for (i = 0; i < 1000; i++)
        same &= memcmp(&many[i], few, sizeof *few) == 0 && (rank < size - 1 || memcmp(&at_root[i], few, sizeof *few) == 0);
    verdict(same, name);
}

int main(int argc, char **argv)
{
    double plain[N], permuted[N], smaller[N];
    MPI_Comm half;
    MPI_Op op;
    int n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = (size + 1) / 2;

    sums(MPI_COMM_WORLD, rank, plain);
    sums(MPI_COMM_WORLD, (rank + 1) % size, permuted);
    verdict(memcmp(plain, permuted, sizeof plain) == 0, "values permuted over ranks give the same sum");
    sums(MPI_COMM_WORLD, size - 1 - rank, permuted);
    verdict(memcmp(plain, permuted, sizeof plain) == 0, "values reversed over ranks give the same sum");

    /* The first half alone, and all ranks with the second half contributing zero. */
    MPI_Comm_split(MPI_COMM_WORLD, rank < n, rank, &half);
    sums(half, rank < n ? rank : rank - n, smaller);
    sums(MPI_COMM_WORLD, rank < n ? rank : -1, plain);
    verdict(rank >= n || memcmp(plain, smaller, sizeof plain) == 0, "ranks that contribute zero change nothing");
    MPI_Comm_free(&half);

    one_tree(MPI_PROD, "products have one tree");
    MPI_Op_create(halve, 0, &op);
    one_tree(op, "the program's operations have one tree");
    MPI_Op_free(&op);
    MPI_Finalize();
    return failed;
}

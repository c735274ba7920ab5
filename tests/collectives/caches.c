/* Barriers, broadcasts and reductions of more ranks than share a cache, from some roots, in the world, in halves of it and
 * among its ranks in reverse order. Reductions whose order counts compose maps x -> a x + b. */
#include "collectives.h"

enum { MOST = 400 };

struct map {
    unsigned a, b;
};

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct map *left = in, *right = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        right[i] = (struct map){left[i].a * right[i].a, right[i].a * left[i].b + right[i].b};
}

static struct map of(int from, int i)
{
    return (struct map){2 * (unsigned)(from + i) + 1, (unsigned)(from * 7 + i)};
}

static int is_right(const struct map *got, int count, int ranks)
{
    for (int i = 0; i < count; i++) {
        struct map all = of(0, i);
        for (int from = 1; from < ranks; from++) {
            struct map right = of(from, i);
            all = (struct map){all.a * right.a, right.a * all.b + right.b};
        }
        if (got[i].a != all.a || got[i].b != all.b)
            return 0;
    }
    return 1;
}

static int try(MPI_Comm comm, MPI_Datatype type, MPI_Op op)
{
    static const int counts[] = {1, 3, MOST};
    struct map mine[MOST], all[MOST];
    int me, ranks, right = 1;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    for (int round = 0; round < 12; round++) {
        int root = round * 5 % ranks, count = counts[round % 3];
        long sum = 0, one = me + round;
        for (int i = 0; i < count; i++)
            mine[i] = of(me, i);
        MPI_Reduce(mine, all, count, type, op, root, comm);
        right &= me != root || is_right(all, count, ranks);
        MPI_Allreduce(mine, all, count, type, op, comm);
        right &= is_right(all, count, ranks);
        if (me == root)
            memcpy(mine, all, sizeof mine);
        MPI_Bcast(mine, count, type, root, comm);
        right &= memcmp(mine, all, count * sizeof *mine) == 0;
        MPI_Barrier(comm);
        MPI_Reduce(&one, &sum, 1, MPI_LONG, MPI_SUM, root, comm);
        right &= me != root || sum == (long)ranks * (ranks - 1) / 2 + (long)ranks * round;
        MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_LONG, MPI_SUM, comm);
        right &= one == (long)ranks * (ranks - 1) / 2 + (long)ranks * round;
    }
    return right;
}

int main(int argc, char **argv)
{
    MPI_Comm halves, reversed;
    MPI_Datatype type;
    MPI_Op op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(2, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
    verdict(try(MPI_COMM_WORLD, type, op), "the world");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &halves);
    verdict(try(halves, type, op), "every other rank");
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
    verdict(try(reversed, type, op), "ranks in reverse order");
    MPI_Comm_free(&halves);
    MPI_Comm_free(&reversed);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Finalize();
    return failed;
}

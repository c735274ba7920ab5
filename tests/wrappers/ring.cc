// The same in C++, with what only C++ has.
#include <mpi.h>

#include <iostream>
#include <vector>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int left = (rank + size - 1) % size;
    std::vector<double> out(3, rank), in(3, -1);
    MPI_Sendrecv(out.data(), 3, MPI_DOUBLE, (rank + 1) % size, 0, in.data(), 3, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    const bool closed = in == std::vector<double>(3, left);
    std::cout << "rank " << rank << (closed ? ": ring closed" : ": ring broken") << std::endl;
    MPI_Finalize();
    return closed ? 0 : 1;
}

program module
    use mpi
    implicit none
    integer :: rank, total, ierror
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (rank == 0) write (*, '(a, i0)') 'sum ', total
    call MPI_Finalize(ierror)
end program

! Calls of each interface come from their own lines: 9, 10 and 12, and a profile sees each of them once.
program places
  use mpi_f08
  implicit none
  integer :: rank, other, i
  real :: x(10)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD)
  do i = 1, 4
    call MPI_Bcast(x, 10, MPI_REAL, 0, MPI_COMM_WORLD)
  end do
  other = rank
  call MPI_Finalize()
end program places

! Positions that count from 1, text and statuses through the module mpi. A failed check ends with its number.
program u
  use mpi
  implicit none
  integer :: ierr, rank, size, req(2), st(MPI_STATUS_SIZE,2), idx(2), n, x, y
  logical :: flag
  integer(MPI_ADDRESS_KIND) :: address
  character(len=MPI_MAX_ERROR_STRING) :: text
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  x = rank; y = -1
  call MPI_Irecv(y, 1, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, req(1), ierr)
  call MPI_Isend(x, 1, MPI_INTEGER, mod(rank+1,size), 5, MPI_COMM_WORLD, req(2), ierr)
  n = 0
  do while (n < 2)
    call MPI_Waitsome(2, req, ierr, idx, st, x)
    if (idx(1) < 1 .or. idx(1) > 2) stop 50
    n = n + ierr
  end do
  if (y /= mod(rank+size-1,size)) stop 51
  call MPI_Error_string(MPI_ERR_COMM, text, n, ierr)
  if (n < 5 .or. text(n+1:) /= ' ') stop 52
  call MPI_Initialized(flag, ierr)
  if (.not. flag) stop 53
  call MPI_Get_address(x, address, ierr)
  call MPI_Bcast(MPI_BOTTOM, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  if (rank == 0) print '(a)', 'ok module'
end program

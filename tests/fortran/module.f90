! Positions that count from 1, text and statuses through the module mpi. A failed check ends with its number.
program u
  use mpi
  implicit none
  type(MPI_Status) :: typed
  type(MPI_Comm) :: comm
  integer :: ierr, rank, size, req(2), st(MPI_STATUS_SIZE,2), idx(2), n, x, y, z(2), how, at, bad
  logical :: flag, done(2)
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
  call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, ierr)
  call MPI_Bsend(rank, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, ierr)
  call MPI_Recv(at, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  if (at /= rank) stop 70
  call MPI_Buffer_detach(at, n, ierr)
  if (at /= rank) stop 71
  call MPI_Get_address(x, address, ierr)
  call MPI_Bcast(MPI_BOTTOM, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  ! The second request fails, and its position counts from 1 all the same.
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
  do how = 1, 2
    z = 0; done = .false.
    call MPI_Irecv(x, 1, MPI_INTEGER, 0, 6, MPI_COMM_SELF, req(1), ierr)
    call MPI_Irecv(y, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, req(2), ierr)
    call MPI_Send(z, 1, MPI_INTEGER, 0, 6, MPI_COMM_SELF, ierr)
    call MPI_Send(z, 2, MPI_INTEGER, 0, 7, MPI_COMM_SELF, ierr)
    do while (.not. all(done))
      n = 0; st = MPI_SUCCESS
      if (how == 1) call MPI_Waitsome(2, req, n, idx, st, ierr)
      if (how == 2) call MPI_Testsome(2, req, n, idx, st, ierr)
      if (n == MPI_UNDEFINED) stop 54
      do at = 1, n
        if (idx(at) < 1 .or. idx(at) > 2) stop 55
        if (done(idx(at))) stop 56
        done(idx(at)) = .true.
        call MPI_Error_class(ierr, x, bad)
        if (idx(at) == 2 .and. x /= MPI_ERR_IN_STATUS) stop 57
        call MPI_Error_class(st(MPI_ERROR, at), x, bad)
        if (idx(at) == 2 .neqv. x == MPI_ERR_TRUNCATE) stop 58
      end do
    end do
  end do
  ! A call that writes no position leaves the array alone.
  idx = -7
  call MPI_Waitsome(2, req, n, idx, st, ierr)
  if (n /= MPI_UNDEFINED .or. any(idx /= -7)) stop 59
  call MPI_Waitsome(-1, req, n, idx, st, ierr)
  if (ierr == MPI_SUCCESS .or. any(idx /= -7)) stop 60
  ! Types of mpi_f08 for those who mix both, and what Fortran alone has, under both names.
  comm%MPI_VAL = MPI_COMM_SELF
  if (comm /= MPI_Comm(MPI_COMM_SELF) .or. comm == MPI_Comm(MPI_COMM_WORLD)) stop 61
  st(:, 1) = [(at, at = 1, MPI_STATUS_SIZE)]
  call MPI_Status_f2f08(st(:, 1), typed)
  if (typed%MPI_SOURCE /= st(MPI_SOURCE, 1) .or. typed%MPI_TAG /= st(MPI_TAG, 1)) stop 62
  call PMPI_Status_f082f(typed, st(:, 2), ierr)
  if (ierr /= MPI_SUCCESS .or. any(st(:, 1) /= st(:, 2))) stop 63
  call PMPI_Status_f2f08(st(:, 2), typed, ierr)
  typed%MPI_ERROR = MPI_ERR_TAG
  call MPI_Status_f082f(typed, st(:, 2))
  if (st(MPI_ERROR, 2) /= MPI_ERR_TAG) stop 64
  call MPI_Sizeof(address, n, ierr)
  call PMPI_Sizeof(z, x, ierr)
  if (n /= 8 .or. x /= 4) stop 65
  call MPI_F_sync_reg(z)
  call PMPI_F_sync_reg(y)
  call MPI_Finalize(ierr)
  if (rank == 0) print '(a)', 'ok module'
end program

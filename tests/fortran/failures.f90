! The job goes on without the last rank, by the functions beyond the standard, in both modules. A failed check ends with its number.
module older
  use mpi
  use mpi_ext
  implicit none
contains
  ! Through the module mpi, under the names of the profiling interface.
  subroutine by_module(living)
    integer, intent(in) :: living
    integer :: group, n, comm, request, flag, ierr
    logical :: yes
    if (OMPI_HAVE_MPI_EXT_FTMPI /= 1) stop 50
    call PMPIX_Comm_failure_ack(MPI_COMM_WORLD, ierr)
    call PMPIX_Comm_failure_get_acked(MPI_COMM_WORLD, group, ierr)
    call MPI_Group_size(group, n, ierr)
    if (n /= 1) stop 51
    call MPI_Group_free(group, ierr)
    call PMPIX_Comm_get_failed(MPI_COMM_WORLD, group, ierr)
    call MPI_Group_size(group, n, ierr)
    if (n /= 1) stop 52
    call MPI_Group_free(group, ierr)
    call PMPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, n, ierr)
    if (n /= 1) stop 53
    flag = 12
    call PMPIX_Comm_agree(MPI_COMM_WORLD, flag, ierr)
    if (ierr /= MPI_SUCCESS .or. flag /= 12) stop 54
    call PMPIX_Comm_iagree(MPI_COMM_WORLD, flag, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    if (ierr /= MPI_SUCCESS .or. flag /= 12) stop 55
    call PMPIX_Comm_ishrink(MPI_COMM_WORLD, comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_size(comm, n, ierr)
    if (n /= living) stop 56
    call PMPIX_Comm_revoke(comm, ierr)
    call PMPIX_Comm_is_revoked(comm, yes, ierr)
    if (.not. yes) stop 57
    call MPI_Comm_free(comm, ierr)
    call PMPIX_Comm_shrink(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine
end module

program failures
  use mpi_f08
  use mpi_f08_ext
  use older, only: by_module
  implicit none
  integer :: rank, ranks, living, x, n, class, ierr
  integer, asynchronous :: flag
  logical :: yes
  type(MPI_Group) :: group
  type(MPI_Comm) :: comm, shrunk
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  living = ranks - 1
  ! This rank ends without MPI_Finalize, and so has failed.
  if (rank == living) stop
  call MPI_Recv(x, 1, MPI_INTEGER, living, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Error_class(ierr, class)
  if (class /= MPIX_ERR_PROC_FAILED) stop 30
  call MPIX_Comm_get_failed(MPI_COMM_WORLD, group)
  call MPI_Group_size(group, n)
  if (n /= 1) stop 31
  call MPI_Group_free(group)
  call MPIX_Comm_ack_failed(MPI_COMM_WORLD, ranks, n)
  if (n /= 1) stop 32
  flag = merge(6, 5, rank == 0)
  call MPIX_Comm_agree(MPI_COMM_WORLD, flag, ierr)
  if (ierr /= MPI_SUCCESS .or. flag /= merge(6, 4, living == 1)) stop 33
  flag = merge(3, 9, rank == 0)
  call MPIX_Comm_iagree(MPI_COMM_WORLD, flag, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(flag)
  if (flag /= merge(3, 1, living == 1)) stop 34
  call MPIX_Comm_ishrink(MPI_COMM_WORLD, comm, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPIX_Comm_shrink(MPI_COMM_WORLD, shrunk)
  n = 1
  call MPI_Allreduce(MPI_IN_PLACE, n, 1, MPI_INTEGER, MPI_SUM, shrunk)
  if (n /= living) stop 35
  call MPI_Barrier(comm)
  call MPIX_Comm_revoke(comm)
  call MPIX_Comm_is_revoked(comm, yes)
  if (.not. yes) stop 36
  call MPIX_Comm_is_revoked(shrunk, yes)
  if (yes) stop 37
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Send(x, 1, MPI_INTEGER, 0, 1, comm, ierr)
  call MPI_Error_class(ierr, class)
  if (class /= MPIX_ERR_REVOKED) stop 38
  call MPIX_Comm_failure_ack(MPI_COMM_WORLD)
  call MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, group)
  call MPI_Group_size(group, n)
  if (n /= 1) stop 39
  call MPI_Group_free(group)
  call by_module(living)
  call MPI_Comm_free(comm)
  call MPI_Comm_free(shrunk)
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'ok failures'
end program

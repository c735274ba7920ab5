! Attributes, operations, error handlers, generalized requests and data representations that one language makes and the other uses.
! A failed check ends with its number; those of C are above 100.
module procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: copied = 0, deleted = 0, failed = 0, freed = 0, queried = 0
  interface
    function reads_integer(comm, key, expected) bind(C) result(bad)
      import
      integer(c_int), value :: comm, key
      integer(c_long), value :: expected
      integer(c_int) :: bad
    end function
    function makes_key() bind(C) result(key)
      import
      integer(c_int) :: key
    end function
    function sets_pointer(comm, key) bind(C) result(address)
      import
      integer(c_int), value :: comm, key
      integer(c_intptr_t) :: address
    end function
    function reduces(comm, op) bind(C) result(bad)
      import
      integer(c_int), value :: comm, op
      integer(c_int) :: bad
    end function
    function provokes(comm, handler) bind(C) result(bad)
      import
      integer(c_int), value :: comm, handler
      integer(c_int) :: bad
    end function
    function completes(request) bind(C) result(bad)
      import
      integer(c_int), value :: request
      integer(c_int) :: bad
    end function
    function writes_file() bind(C) result(bad)
      import
      integer(c_int) :: bad
    end function
    function makes_op() bind(C) result(op)
      import
      integer(c_int) :: op
    end function
  end interface
contains
  subroutine copy(old, key, extra, value, new, flag, ierror)
    type(MPI_Comm) :: old
    integer :: key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value, new
    logical :: flag
    copied = copied + 1
    new = value + extra
    flag = .true.
    ierror = MPI_SUCCESS
    if (old /= MPI_COMM_SELF) ierror = MPI_ERR_COMM
  end subroutine
  subroutine delete(comm, key, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: key, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value
    deleted = deleted + 1
    ierror = MPI_SUCCESS
    if (extra /= -7) ierror = MPI_ERR_ARG
  end subroutine
  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) stop 20
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b + 1
  end subroutine
  subroutine handler(comm, code)
    type(MPI_Comm) :: comm
    integer :: code, class
    call MPI_Error_class(code, class)
    if (comm == MPI_COMM_SELF .and. class == MPI_ERR_RANK) failed = failed + 1
  end subroutine
  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierror
    queried = queried + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_TAG = 77
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    freed = int(extra)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
  subroutine extent(datatype, bytes, extra, ierror)
    type(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: bytes, extra
    integer :: ierror
    bytes = 4
    ierror = merge(MPI_SUCCESS, MPI_ERR_ARG, extra == 5 .and. datatype == MPI_INTEGER)
  end subroutine
  subroutine convert_write(user, datatype, count, file, position, extra, ierror)
    type(c_ptr), value :: user, file
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra
    integer, pointer :: a(:), b(:)
    call c_f_pointer(user, a, [count])
    call c_f_pointer(file, b, [count])
    b = -a
    ierror = MPI_SUCCESS
  end subroutine
  subroutine convert_read(user, datatype, count, file, position, extra, ierror)
    type(c_ptr), value :: user, file
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra
    integer, pointer :: a(:), b(:)
    call c_f_pointer(user, a, [count])
    call c_f_pointer(file, b, [count])
    a = -b
    ierror = MPI_SUCCESS
  end subroutine
end module
program languages
  use procedures
  implicit none
  integer :: key, own, c_key, i, x, rank
  integer(MPI_ADDRESS_KIND) :: value, address
  logical :: there
  type(MPI_Comm) :: dup
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: errhandler
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_Win) :: win
  type(c_ptr) :: base
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  ! Fortran sets, C reads, through keys of both languages.
  call MPI_Comm_create_keyval(copy, delete, own, -7_MPI_ADDRESS_KIND)
  c_key = makes_key()
  do i = 1, 2
    key = merge(own, c_key, i == 1)
    value = -huge(value)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, value)
    value = 0
    call MPI_Comm_get_attr(MPI_COMM_SELF, key, value, there)
    if (.not. there .or. value /= -huge(value)) stop 1
    if (reads_integer(MPI_COMM_SELF%MPI_VAL, key, -huge(value)) /= 0) stop 2
    ! The copy is Fortran's too, also where a function of C hands it on.
    call MPI_Comm_dup(MPI_COMM_SELF, dup)
    call MPI_Comm_get_attr(dup, key, value, there)
    if (.not. there .or. value /= -huge(value) + merge(-7, 0, i == 1)) stop 3
    if (reads_integer(dup%MPI_VAL, key, value) /= 0) stop 4
    call MPI_Comm_free(dup)
  end do
  if (copied /= 2 .or. deleted /= 2) stop 5
  ! C sets, Fortran reads: the address.
  address = sets_pointer(MPI_COMM_SELF%MPI_VAL, c_key)
  call MPI_Comm_get_attr(MPI_COMM_SELF, c_key, value, there)
  if (.not. there .or. value /= address) stop 6
  address = sets_pointer(MPI_COMM_SELF%MPI_VAL, own)
  if (deleted /= 3) stop 7
  call MPI_Comm_delete_attr(MPI_COMM_SELF, own)
  if (deleted /= 4) stop 8
  call MPI_Comm_get_attr(MPI_COMM_SELF, MPI_TAG_UB, value, there)
  if (.not. there .or. value < 32767) stop 9
  if (reads_integer(MPI_COMM_SELF%MPI_VAL, MPI_TAG_UB, -1_c_long) /= 0) stop 10
  call MPI_Win_allocate(48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, base, win)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, there)
  if (.not. there .or. value /= 48) stop 11
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, there)
  if (.not. there .or. value /= 4) stop 12
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, there)
  if (.not. there .or. value /= transfer(base, value)) stop 13
  call MPI_Win_free(win)
  ! Operations, error handlers, requests and representations of Fortran in C.
  call MPI_Op_create(add, .true., op)
  if (reduces(MPI_COMM_WORLD%MPI_VAL, op%MPI_VAL) /= 0) stop 14
  call MPI_Op_free(op)
  op%MPI_VAL = makes_op()
  x = rank
  call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call MPI_Comm_size(MPI_COMM_WORLD, i)
  if (x /= i * (i - 1) / 2 + 10 * (i - 1)) stop 15
  call MPI_Op_free(op)
  call MPI_Comm_create_errhandler(handler, errhandler)
  if (provokes(MPI_COMM_SELF%MPI_VAL, errhandler%MPI_VAL) /= MPI_ERR_RANK .or. failed /= 1) stop 16
  call MPI_Grequest_start(query, release, cancel, 12_MPI_ADDRESS_KIND, request)
  if (completes(request%MPI_VAL) /= 0) stop 17
  if (queried /= 1 .or. freed /= 12) stop 18
  call MPI_Register_datarep('negated', convert_read, convert_write, extent, 5_MPI_ADDRESS_KIND)
  if (rank == 0) then
    if (writes_file() /= 0) stop 19
  end if
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'ok languages'
end program

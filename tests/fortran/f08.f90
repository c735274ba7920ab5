! Sections of arrays, handles with types, large counts and info objects through mpi_f08. A failed check ends with its number.
program ring
  use mpi_f08
  use mpi, only: MPI_IN_PLACE, MPI_Comm, world => MPI_COMM_WORLD
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: logical_kinds, integer_kinds, real_kinds
  implicit none
  integer :: rank, size, i, token, cls, idx, length
  integer, allocatable :: ones(:), places(:)
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Datatype), pointer, contiguous :: nowhere(:)
  type(MPI_Session) :: session
  type(MPI_Request) :: req(2)
  type(MPI_Status) :: st
  integer :: few(MPI_STATUS_SIZE)
  type(MPI_Comm) :: dup
  type(MPI_Info) :: info
  real(8), asynchronous, target :: a(6,6), b(8), c(4)
  integer(MPI_COUNT_KIND) :: big
  character(len=20) :: value
  integer(MPI_ADDRESS_KIND) :: address
  logical :: there
  type(c_ptr) :: base
  type(MPI_Win) :: win
  type(MPI_Datatype) :: col
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  if (MPI_COMM_WORLD == MPI_COMM_SELF) stop 30
  if (MPI_COMM_WORLD /= MPI_COMM_WORLD) stop 31
  a = -1; a(2,:) = rank
  call MPI_Irecv(a(1,:), 6, MPI_REAL8, mod(rank+size-1,size), 2, MPI_COMM_WORLD, req(1))
  call MPI_Isend(a(2,:), 6, MPI_REAL8, mod(rank+1,size), 2, MPI_COMM_WORLD, req(2))
  call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
  if (any(a(1,:) /= mod(rank+size-1,size))) stop 32
  if (any(a(3:,:) /= -1)) stop 33
  ! partial count over a section of rank 2, negative stride at the other end
  a = -1; a(1:6:2, 6:1:-2) = rank + 100
  call MPI_Irecv(a(2:6:2, 1:6:2), 4, MPI_REAL8, mod(rank+size-1,size), 3, MPI_COMM_WORLD, req(1))
  call MPI_Isend(a(1:6:2, 6:1:-2), 4_MPI_COUNT_KIND, MPI_REAL8, mod(rank+1,size), 3, MPI_COMM_WORLD, req(2))
  call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
  if (a(2,1) /= mod(rank+size-1,size)+100 .or. a(2,3) /= a(2,1) .or. a(4,3) /= -1) stop 34
  ! blocking
  b = -1
  call MPI_Sendrecv(a(2,1:1), 1, MPI_REAL8, mod(rank+1,size), 4, b(2::3), 1, MPI_REAL8, &
     mod(rank+size-1,size), 4, MPI_COMM_WORLD, st)
  if (b(2) < 0 .or. any(b([1,3,4,5]) /= -1)) stop 35
  if (st%MPI_TAG /= 4) stop 36
  call MPI_Get_count(st, MPI_REAL8, big)
  if (big /= 1) stop 37
  b = 1
  call MPI_Allreduce(MPI_IN_PLACE, b(1::2), 4, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
  if (any(b(1::2) /= size) .or. any(b(2::2) /= 1)) stop 38
  call MPI_Info_create(info)
  call MPI_Info_set(info, ' key ', ' a value ')
  call MPI_Info_get(info, 'key', 20, value, there)
  if (.not. there .or. value /= 'a value') stop 39
  length = 20
  value = 'old'
  call MPI_Info_get_string(info, 'key', length, value, there)
  if (.not. there .or. value /= 'a value' .or. length /= 7) stop 40
  length = 0
  call MPI_Info_get_string(info, 'key', length, value, there)
  if (.not. there .or. value /= 'a value' .or. length /= 7) stop 45
  call MPI_Info_get_string(info, 'none', length, value, there)
  if (there .or. value /= 'a value') stop 41
  ! room that no text fills
  length = huge(1)
  value = 'old'
  call MPI_Info_get_string(info, 'key', length, value, there)
  if (.not. there .or. value /= 'a value' .or. length /= 7) stop 48
  length = huge(1)
  call MPI_Info_get_string(info, 'none', length, value, there)
  if (there .or. length /= huge(1)) stop 49
  value = 'old'
  call MPI_Info_get(info, 'key', huge(1), value, there)
  if (.not. there .or. value /= 'a value') stop 50
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  length = huge(1)
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, value)
  if (length < 1 .or. length > MPI_MAX_PSET_NAME_LEN) stop 51
  call MPI_Session_finalize(session)
  ! Types beside MPI_IN_PLACE are not looked at: no memory is at the address.
  call c_f_pointer(transfer(64_c_intptr_t, base), nowhere, [size])
  allocate(ones(size), places(size), types(size))
  ones = 1; places = [(8 * i, i = 0, size - 1)]; types = MPI_REAL8
  b(:size) = rank
  call MPI_Alltoallw(MPI_IN_PLACE, ones, places, nowhere, b, ones, places, types, MPI_COMM_WORLD)
  if (any(b(:size) /= [(i, i = 0, size - 1)])) stop 52
  b(:size) = rank
  call MPI_Ialltoallw(MPI_IN_PLACE, ones, places, nowhere, b, ones, places, types, MPI_COMM_WORLD, req(1))
  call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  if (any(b(:size) /= [(i, i = 0, size - 1)])) stop 53
  b(:size) = rank
  call MPI_Alltoallw_init(MPI_IN_PLACE, ones, places, nowhere, b, ones, places, types, MPI_COMM_WORLD, &
     MPI_INFO_NULL, req(1))
  call MPI_Start(req(1))
  call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  call MPI_Request_free(req(1))
  if (any(b(:size) /= [(i, i = 0, size - 1)])) stop 54
  call MPI_Win_allocate(80_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call MPI_Win_free(win)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Send(b, 1, MPI_REAL8, size, 1, MPI_COMM_WORLD, i)
  if (i == MPI_SUCCESS) stop 42
  call MPI_Error_class(i, cls)
  if (cls /= MPI_ERR_RANK) stop 43
  ! Reductions that keep their buffers get copies of sections, which the end of the call gives back.
  b = 1; c = 1
  call MPI_Iallreduce(c, b(1::2), 4, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, req(1))
  call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  if (any(b(1::2) /= size) .or. any(b(2::2) /= 1)) stop 55
  b = 2
  call MPI_Iallreduce(MPI_IN_PLACE, b(7:1:-2), 3, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, req(1))
  call MPI_Waitall(1, req, MPI_STATUSES_IGNORE)
  if (any(b(3:7:2) /= 2 * size) .or. any(b([1,2,4,6,8]) /= 2)) stop 56
  b = rank
  call MPI_Iallreduce(b(1::2), c, 4_MPI_COUNT_KIND, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, req(1))
  there = .false.
  do while (.not. there)
    call MPI_Test(req(1), there, MPI_STATUS_IGNORE)
  end do
  if (any(c /= size * (size - 1) / 2)) stop 57
  ! A persistent one copies anew at every start.
  call MPI_Scan_init(a(1,1:6:3), b(1::4), 2, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req(1))
  do i = 1, 3
    a = i; b = 0
    call MPI_Start(req(1))
    call MPI_Wait(req(1), MPI_STATUS_IGNORE)
    if (any(b(1::4) /= i * (rank + 1)) .or. any(b([2,3,4,6,7,8]) /= 0)) stop 58
  end do
  call MPI_Request_free(req(1))
  ! Blocks of several sizes, to places in the sequence of elements.
  places = [(size - 1 - i, i = 0, size - 1)]
  a = -1; b = rank
  call MPI_Iallgatherv(b(1:1), 1, MPI_REAL8, a(3,:), ones, places, MPI_REAL8, MPI_COMM_WORLD, req(1))
  call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  if (any(a(3,:size) /= [(size - 1 - i, i = 0, size - 1)]) .or. any(a(3,size+1:) /= -1) .or. a(4,1) /= -1) stop 59
  places = [(i, i = 0, size - 1)]
  a(2,:size) = [(100 * rank + i, i = 0, size - 1)]
  call MPI_Ialltoallv(a(2,:), ones, places, MPI_REAL8, a(5,6:1:-1), ones, places, MPI_REAL8, MPI_COMM_WORLD, req(1))
  call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  if (any(a(5,6:7-size:-1) /= [(100 * i + rank, i = 0, size - 1)])) stop 60
  ! Types that span elements, with holes, and of parts of elements, over sections of rank 2.
  call MPI_Type_vector(2, 2, 3, MPI_REAL8, col)
  call MPI_Type_commit(col)
  a = reshape([(real(i, 8), i = 1, 36)], [6, 6])
  b = 0
  call MPI_Irecv(b, 4, MPI_REAL8, 0, 8, MPI_COMM_SELF, req(1))
  call MPI_Isend(a(1:6:2, ::2), 1, col, 0, 8, MPI_COMM_SELF, req(2))
  call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
  if (any(b(1:4) /= [1, 3, 13, 15])) stop 61
  call MPI_Irecv(a(2:6:2, 2::2), 1, col, 0, 8, MPI_COMM_SELF, req(1))
  call MPI_Isend([-1d0, -2d0, -3d0, -4d0], 4, MPI_REAL8, 0, 8, MPI_COMM_SELF, req(2))
  call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
  if (a(2,2) /= -1 .or. a(4,2) /= -2 .or. a(6,2) /= 12 .or. a(2,4) /= -3 .or. a(4,4) /= -4 .or. a(6,4) /= 24) stop 63
  call MPI_Type_free(col)
  call MPI_Isend(a(1,1:6:3), 16, MPI_BYTE, 0, 8, MPI_COMM_SELF, req(1))
  call MPI_Recv(b(2::3), 16, MPI_BYTE, 0, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  if (b(2) /= a(1,1) .or. b(5) /= a(1,4)) stop 64
  ! Sections without elements, whatever the bounds say.
  call empty(5, 2)
  ! What lies beyond the section, or must be in one piece, is refused.
  call MPI_Isend(a(1,1:6:3), 3, MPI_REAL8, 0, 8, MPI_COMM_WORLD, req(1), i)
  call refused(65)
  call MPI_Win_create(a(1,:), 48_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, i)
  call refused(66)
  ! A section as origin keeps its type.
  call MPI_Type_contiguous(2, MPI_REAL8, col)
  call MPI_Type_commit(col)
  call MPI_Win_create(c, 32_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_SELF, win)
  c = 1; b = [1, 0, 2, 0, 3, 0, 4, 0]
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)
  call MPI_Accumulate(b(1::2), 2, col, 0, 0_MPI_ADDRESS_KIND, 4, MPI_REAL8, MPI_SUM, win)
  call MPI_Win_unlock(0, win)
  if (any(c /= [2, 3, 4, 5])) stop 67
  call MPI_Win_free(win)
  call MPI_Type_free(col)
  b = 1
  c = 0
  call MPI_Iallreduce(b(2:5), c, 4, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, req(1))
  call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  if (any(c /= size) .or. any(b /= 1)) stop 62
  ! What stands for an automatic buffer comes back as it was given.
  call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
  call MPI_Bsend(rank, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF)
  call MPI_Recv(token, 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  if (token /= rank) stop 74
  call MPI_Buffer_detach(base, length)
  if (.not. c_associated(base, c_loc(MPI_BUFFER_AUTOMATIC))) stop 75
  call MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0_MPI_COUNT_KIND)
  call MPI_Comm_detach_buffer(MPI_COMM_WORLD, base, big)
  if (.not. c_associated(base, c_loc(MPI_BUFFER_AUTOMATIC))) stop 76
  call MPI_Buffer_attach(c, 32)
  call MPI_Buffer_detach(base, length)
  if (.not. c_associated(base, c_loc(c)) .or. length /= 32) stop 77
  call MPI_Sizeof(b, i)
  call PMPI_Sizeof(ones, length)
  if (i /= 8 .or. length /= 4) stop 44
  call MPI_F_sync_reg(b(1::2))
  call PMPI_F_sync_reg(b)
  call PMPI_Status_f082f(st, few)
  call PMPI_Status_f2f08(few, st)
  if (few(2) /= st%MPI_TAG) stop 73
  address = 0
  call MPI_Pack_external('external32', token, 1, MPI_INTEGER, b, 64_MPI_ADDRESS_KIND, address)
  if (address /= 4) stop 47
  if (MPI_COMM_WORLD%MPI_VAL /= world) stop 46
  call kinds()
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'ok f08'
contains
  subroutine empty(lower, upper)
    integer, intent(in) :: lower, upper
    integer, asynchronous :: none(lower:upper,4), few(2,4,lower:upper)
    call MPI_Irecv(none(:,::2), 0, MPI_INTEGER, 0, 9, MPI_COMM_SELF, req(1))
    call MPI_Isend(few(::2,:,:), 0, MPI_INTEGER, 0, 9, MPI_COMM_SELF, req(2))
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
    call MPI_Iallreduce(MPI_IN_PLACE, none(:,::2), 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req(1))
    call MPI_Wait(req(1), MPI_STATUS_IGNORE)
  end subroutine
  ! What the library knows of the compiler.
  subroutine kinds()
    logical(8), target :: yes, no
    call MPI_Abi_get_fortran_info(info)
    do i = 0, 4
      call supported('logical', 2**i, any(logical_kinds == 2**i))
      call supported('integer', 2**i, any(integer_kinds == 2**i))
      if (i > 0) call supported('real', 2**i, any(real_kinds == 2**i))
      if (i > 0) call supported('complex', 2**(i+1), any(real_kinds == 2**i))
    end do
    call MPI_Info_get(info, 'mpi_double_complex_supported', 20, value, there)
    if (.not. there .or. value /= 'true') stop 68
    call MPI_Info_get(info, 'mpi_double_precision_size', 20, value, there)
    if (.not. there .or. value /= '8') stop 69
    call MPI_Info_free(info)
    call MPI_Abi_get_fortran_booleans(8, yes, no, there)
    if (.not. there .or. .not. yes .or. no) stop 70
    if (transfer(yes, 1_8) /= transfer(.true._8, 1_8)) stop 71
  end subroutine
  subroutine supported(of, bytes, yes)
    character(len=*), intent(in) :: of
    integer, intent(in) :: bytes
    logical, intent(in) :: yes
    character(len=40) :: key
    write (key, '(2a, i0, a)') 'mpi_', of, bytes, '_supported'
    call MPI_Info_get(info, key, 20, value, there)
    if (there .and. value == merge('true ', 'false', yes)) return
    print '(a)', key
    error stop 72
  end subroutine
  subroutine refused(check)
    integer, intent(in) :: check
    integer :: class
    call MPI_Error_class(i, class)
    if (class == MPI_ERR_BUFFER) return
    print '(a, i0)', 'check ', check
    error stop
  end subroutine
end program

! Sections with strides as buffers of every collective, blocking, nonblocking and persistent, give what arrays in one piece give, and
! leave the elements between theirs alone.
program sections
  use mpi_f08
  implicit none
  integer, parameter :: k = 2
  integer :: rank, size, n, i, wrong = 0
  integer, allocatable :: counts(:), places(:), bytes(:)
  integer(MPI_ADDRESS_KIND) :: wide
  type(MPI_Datatype) :: t
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Comm) :: ring
  type(MPI_Request) :: request
  integer, parameter :: root = 1
  real(8), allocatable, asynchronous :: sent(:), plain(:), x(:), y(:)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  n = k * max(size, 2)
  t = MPI_REAL8
  wide = k * 8
  allocate(sent(n), plain(n), x(2*n+1), y(2*n+1))
  sent = [(100 * rank + i, i = 1, n)]
  counts = [(k, i = 1, size)]
  places = [(k * (size - i), i = 1, size)]
  bytes = 8 * places
  types = [(t, i = 1, size)]
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., ring)

  ! MPI_Gather
  plain = -7
  call MPI_Gather(sent, k, t, plain, k, t, root, MPI_COMM_WORLD)
  call fresh()
  call MPI_Gather(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD)
  call compare('Gather')
  call fresh()
  call MPI_Igather(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Igather')
  call MPI_Gather_init(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Gather_init')
  ! MPI_Gatherv
  plain = -7
  call MPI_Gatherv(sent, k, t, plain, counts, places, t, root, MPI_COMM_WORLD)
  call fresh()
  call MPI_Gatherv(x(2:2*n:2), k, t, y(2*n:2:-2), counts, places, t, root, MPI_COMM_WORLD)
  call compare('Gatherv')
  call fresh()
  call MPI_Igatherv(x(2:2*n:2), k, t, y(2*n:2:-2), counts, places, t, root, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Igatherv')
  call MPI_Gatherv_init(x(2:2*n:2), k, t, y(2*n:2:-2), counts, places, t, root, MPI_COMM_WORLD, MPI_INFO_NULL, &
       request)
  call rounds('Gatherv_init')
  ! MPI_Scatter
  plain = -7
  call MPI_Scatter(sent, k, t, plain, k, t, root, MPI_COMM_WORLD)
  call fresh()
  call MPI_Scatter(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD)
  call compare('Scatter')
  call fresh()
  call MPI_Iscatter(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Iscatter')
  call MPI_Scatter_init(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Scatter_init')
  ! MPI_Scatterv
  plain = -7
  call MPI_Scatterv(sent, counts, places, t, plain, k, t, root, MPI_COMM_WORLD)
  call fresh()
  call MPI_Scatterv(x(2:2*n:2), counts, places, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD)
  call compare('Scatterv')
  call fresh()
  call MPI_Iscatterv(x(2:2*n:2), counts, places, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Iscatterv')
  call MPI_Scatterv_init(x(2:2*n:2), counts, places, t, y(2*n:2:-2), k, t, root, MPI_COMM_WORLD, MPI_INFO_NULL, &
       request)
  call rounds('Scatterv_init')
  ! MPI_Allgather
  plain = -7
  call MPI_Allgather(sent, k, t, plain, k, t, MPI_COMM_WORLD)
  call fresh()
  call MPI_Allgather(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, MPI_COMM_WORLD)
  call compare('Allgather')
  call fresh()
  call MPI_Iallgather(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Iallgather')
  call MPI_Allgather_init(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Allgather_init')
  ! MPI_Allgatherv
  plain = -7
  call MPI_Allgatherv(sent, k, t, plain, counts, places, t, MPI_COMM_WORLD)
  call fresh()
  call MPI_Allgatherv(x(2:2*n:2), k, t, y(2*n:2:-2), counts, places, t, MPI_COMM_WORLD)
  call compare('Allgatherv')
  call fresh()
  call MPI_Iallgatherv(x(2:2*n:2), k, t, y(2*n:2:-2), counts, places, t, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Iallgatherv')
  call MPI_Allgatherv_init(x(2:2*n:2), k, t, y(2*n:2:-2), counts, places, t, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Allgatherv_init')
  ! MPI_Alltoall
  plain = -7
  call MPI_Alltoall(sent, k, t, plain, k, t, MPI_COMM_WORLD)
  call fresh()
  call MPI_Alltoall(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, MPI_COMM_WORLD)
  call compare('Alltoall')
  call fresh()
  call MPI_Ialltoall(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ialltoall')
  call MPI_Alltoall_init(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Alltoall_init')
  ! MPI_Alltoallv
  plain = -7
  call MPI_Alltoallv(sent, counts, places, t, plain, counts, places, t, MPI_COMM_WORLD)
  call fresh()
  call MPI_Alltoallv(x(2:2*n:2), counts, places, t, y(2*n:2:-2), counts, places, t, MPI_COMM_WORLD)
  call compare('Alltoallv')
  call fresh()
  call MPI_Ialltoallv(x(2:2*n:2), counts, places, t, y(2*n:2:-2), counts, places, t, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ialltoallv')
  call MPI_Alltoallv_init(x(2:2*n:2), counts, places, t, y(2*n:2:-2), counts, places, t, MPI_COMM_WORLD, &
       MPI_INFO_NULL, request)
  call rounds('Alltoallv_init')
  ! MPI_Alltoallw
  plain = -7
  call MPI_Alltoallw(sent, counts, bytes, types, plain, counts, bytes, types, MPI_COMM_WORLD)
  call fresh()
  call MPI_Alltoallw(x(2:2*n:2), counts, bytes, types, y(2*n:2:-2), counts, bytes, types, MPI_COMM_WORLD)
  call compare('Alltoallw')
  call fresh()
  call MPI_Ialltoallw(x(2:2*n:2), counts, bytes, types, y(2*n:2:-2), counts, bytes, types, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ialltoallw')
  call MPI_Alltoallw_init(x(2:2*n:2), counts, bytes, types, y(2*n:2:-2), counts, bytes, types, MPI_COMM_WORLD, &
       MPI_INFO_NULL, request)
  call rounds('Alltoallw_init')
  ! MPI_Reduce
  plain = -7
  call MPI_Reduce(sent, plain, n, t, MPI_SUM, root, MPI_COMM_WORLD)
  call fresh()
  call MPI_Reduce(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, root, MPI_COMM_WORLD)
  call compare('Reduce')
  call fresh()
  call MPI_Ireduce(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, root, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ireduce')
  call MPI_Reduce_init(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, root, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Reduce_init')
  ! MPI_Allreduce
  plain = -7
  call MPI_Allreduce(sent, plain, n, t, MPI_SUM, MPI_COMM_WORLD)
  call fresh()
  call MPI_Allreduce(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD)
  call compare('Allreduce')
  call fresh()
  call MPI_Iallreduce(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Iallreduce')
  call MPI_Allreduce_init(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Allreduce_init')
  ! MPI_Reduce_scatter_block
  plain = -7
  call MPI_Reduce_scatter_block(sent, plain, k, t, MPI_SUM, MPI_COMM_WORLD)
  call fresh()
  call MPI_Reduce_scatter_block(x(2:2*n:2), y(2*n:2:-2), k, t, MPI_SUM, MPI_COMM_WORLD)
  call compare('Reduce_scatter_block')
  call fresh()
  call MPI_Ireduce_scatter_block(x(2:2*n:2), y(2*n:2:-2), k, t, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ireduce_scatter_block')
  call MPI_Reduce_scatter_block_init(x(2:2*n:2), y(2*n:2:-2), k, t, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Reduce_scatter_block_init')
  ! MPI_Reduce_scatter
  plain = -7
  call MPI_Reduce_scatter(sent, plain, counts, t, MPI_SUM, MPI_COMM_WORLD)
  call fresh()
  call MPI_Reduce_scatter(x(2:2*n:2), y(2*n:2:-2), counts, t, MPI_SUM, MPI_COMM_WORLD)
  call compare('Reduce_scatter')
  call fresh()
  call MPI_Ireduce_scatter(x(2:2*n:2), y(2*n:2:-2), counts, t, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ireduce_scatter')
  call MPI_Reduce_scatter_init(x(2:2*n:2), y(2*n:2:-2), counts, t, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Reduce_scatter_init')
  ! MPI_Scan
  plain = -7
  call MPI_Scan(sent, plain, n, t, MPI_SUM, MPI_COMM_WORLD)
  call fresh()
  call MPI_Scan(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD)
  call compare('Scan')
  call fresh()
  call MPI_Iscan(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Iscan')
  call MPI_Scan_init(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Scan_init')
  ! MPI_Exscan
  plain = -7
  call MPI_Exscan(sent, plain, n, t, MPI_SUM, MPI_COMM_WORLD)
  call fresh()
  call MPI_Exscan(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD)
  call compare('Exscan')
  call fresh()
  call MPI_Iexscan(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Iexscan')
  call MPI_Exscan_init(x(2:2*n:2), y(2*n:2:-2), n, t, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  call rounds('Exscan_init')
  ! MPI_Neighbor_allgather
  plain = -7
  call MPI_Neighbor_allgather(sent, k, t, plain, k, t, ring)
  call fresh()
  call MPI_Neighbor_allgather(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, ring)
  call compare('Neighbor_allgather')
  call fresh()
  call MPI_Ineighbor_allgather(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, ring, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ineighbor_allgather')
  call MPI_Neighbor_allgather_init(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, ring, MPI_INFO_NULL, request)
  call rounds('Neighbor_allgather_init')
  ! MPI_Neighbor_allgatherv
  plain = -7
  call MPI_Neighbor_allgatherv(sent, k, t, plain, [k, k], [k, 0], t, ring)
  call fresh()
  call MPI_Neighbor_allgatherv(x(2:2*n:2), k, t, y(2*n:2:-2), [k, k], [k, 0], t, ring)
  call compare('Neighbor_allgatherv')
  call fresh()
  call MPI_Ineighbor_allgatherv(x(2:2*n:2), k, t, y(2*n:2:-2), [k, k], [k, 0], t, ring, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ineighbor_allgatherv')
  call MPI_Neighbor_allgatherv_init(x(2:2*n:2), k, t, y(2*n:2:-2), [k, k], [k, 0], t, ring, MPI_INFO_NULL, request)
  call rounds('Neighbor_allgatherv_init')
  ! MPI_Neighbor_alltoall
  plain = -7
  call MPI_Neighbor_alltoall(sent, k, t, plain, k, t, ring)
  call fresh()
  call MPI_Neighbor_alltoall(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, ring)
  call compare('Neighbor_alltoall')
  call fresh()
  call MPI_Ineighbor_alltoall(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, ring, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ineighbor_alltoall')
  call MPI_Neighbor_alltoall_init(x(2:2*n:2), k, t, y(2*n:2:-2), k, t, ring, MPI_INFO_NULL, request)
  call rounds('Neighbor_alltoall_init')
  ! MPI_Neighbor_alltoallv
  plain = -7
  call MPI_Neighbor_alltoallv(sent, [k, k], [k, 0], t, plain, [k, k], [0, k], t, ring)
  call fresh()
  call MPI_Neighbor_alltoallv(x(2:2*n:2), [k, k], [k, 0], t, y(2*n:2:-2), [k, k], [0, k], t, ring)
  call compare('Neighbor_alltoallv')
  call fresh()
  call MPI_Ineighbor_alltoallv(x(2:2*n:2), [k, k], [k, 0], t, y(2*n:2:-2), [k, k], [0, k], t, ring, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ineighbor_alltoallv')
  call MPI_Neighbor_alltoallv_init(x(2:2*n:2), [k, k], [k, 0], t, y(2*n:2:-2), [k, k], [0, k], t, ring, &
       MPI_INFO_NULL, request)
  call rounds('Neighbor_alltoallv_init')
  ! MPI_Neighbor_alltoallw
  plain = -7
  call MPI_Neighbor_alltoallw(sent, [k, k], [0_MPI_ADDRESS_KIND, wide], [t, t], plain, [k, k], [wide, &
       0_MPI_ADDRESS_KIND], [t, t], ring)
  call fresh()
  call MPI_Neighbor_alltoallw(x(2:2*n:2), [k, k], [0_MPI_ADDRESS_KIND, wide], [t, t], y(2*n:2:-2), [k, k], &
       [wide, 0_MPI_ADDRESS_KIND], [t, t], ring)
  call compare('Neighbor_alltoallw')
  call fresh()
  call MPI_Ineighbor_alltoallw(x(2:2*n:2), [k, k], [0_MPI_ADDRESS_KIND, wide], [t, t], y(2*n:2:-2), [k, k], &
       [wide, 0_MPI_ADDRESS_KIND], [t, t], ring, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call compare('Ineighbor_alltoallw')
  call MPI_Neighbor_alltoallw_init(x(2:2*n:2), [k, k], [0_MPI_ADDRESS_KIND, wide], [t, t], y(2*n:2:-2), [k, k], &
       [wide, 0_MPI_ADDRESS_KIND], [t, t], ring, MPI_INFO_NULL, request)
  call rounds('Neighbor_alltoallw_init')

  call MPI_Comm_free(ring)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. wrong == 0) print '(a)', 'ok sections'
  call MPI_Finalize()
  if (wrong /= 0) error stop
contains
  subroutine fresh()
    x = -1
    x(2:2*n:2) = sent
    y = -7
  end subroutine
  subroutine compare(what)
    character(len=*), intent(in) :: what
    if (all(y(2*n:2:-2) == plain) .and. all(y(1::2) == -7)) return
    print '(a, i0, 3a, *(f6.0))', 'rank ', rank, ': ', what, ':', y, plain
    wrong = wrong + 1
  end subroutine
  subroutine rounds(what)
    character(len=*), intent(in) :: what
    do i = 1, 2
      call fresh()
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call compare(what)
    end do
    call MPI_Request_free(request)
  end subroutine
end program

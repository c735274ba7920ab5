! A ring, derived types, statuses, truth values, user operations and attributes through mpif.h. A failed check ends with its number.
      program ring
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, i, flag, st(MPI_STATUS_SIZE)
      integer token, column, req(2), idx, dims(2), sts(8,2)
      logical periods(2), there
      double precision a(4,4), t
      character*(MPI_MAX_PROCESSOR_NAME) name
      integer length, comm2, key
      integer(kind=MPI_ADDRESS_KIND) val, extra
      integer total, op
      external mysum, mycopy, mydel
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      call MPI_GET_PROCESSOR_NAME(name, length, ierr)
      if (name(length+1:) .ne. ' ') stop 11
      token = 0
      if (rank .eq. 0) then
        call MPI_SEND(token, 1, MPI_INTEGER, mod(1,size), 1,
     &    MPI_COMM_WORLD, ierr)
        call MPI_RECV(token, 1, MPI_INTEGER, size-1, 1,
     &    MPI_COMM_WORLD, st, ierr)
        if (token .ne. size-1) stop 12
        if (st(MPI_SOURCE) .ne. size-1) stop 13
      else
        call MPI_RECV(token, 1, MPI_INTEGER, rank-1, 1,
     &    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        token = token + 1
        call MPI_SEND(token, 1, MPI_INTEGER, mod(rank+1,size), 1,
     &    MPI_COMM_WORLD, ierr)
      endif
      call MPI_TYPE_VECTOR(4, 1, 4, MPI_DOUBLE_PRECISION, column, ierr)
      call MPI_TYPE_COMMIT(column, ierr)
      a = -1
      a(2,:) = rank
      call MPI_IRECV(a(1,1), 1, column, mod(rank+size-1,size), 2,
     &  MPI_COMM_WORLD, req(1), ierr)
      call MPI_ISEND(a(2,1), 1, column, mod(rank+1,size), 2,
     &  MPI_COMM_WORLD, req(2), ierr)
      call MPI_WAITALL(2, req, sts, ierr)
      if (any(a(1,:) .ne. mod(rank+size-1,size))) stop 14
      if (req(1) .ne. MPI_REQUEST_NULL) stop 15
      call MPI_WAITANY(2, req, idx, MPI_STATUS_IGNORE, ierr)
      if (idx .ne. MPI_UNDEFINED) stop 16
      periods = .true.
      dims = 0
      call MPI_DIMS_CREATE(size, 2, dims, ierr)
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &  comm2, ierr)
      periods = .false.
      call MPI_CART_GET(comm2, 2, dims, periods, sts, ierr)
      if (.not. all(periods)) stop 17
      call MPI_OP_CREATE(mysum, .true., op, ierr)
      total = rank + 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, op,
     &  MPI_COMM_WORLD, ierr)
      if (total .ne. size*(size+1)/2) stop 18
      extra = 7
      call MPI_COMM_CREATE_KEYVAL(mycopy, mydel, key, extra, ierr)
      val = 40
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, val, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm2, ierr)
      call MPI_COMM_GET_ATTR(comm2, key, val, there, ierr)
      if (.not. there .or. val .ne. 47) stop 19
      call MPI_COMM_FREE(comm2, ierr)
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, val, there,
     &  ierr)
      if (.not. there .or. val .lt. 32767) stop 20
      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN,
     &  MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
      val = -5
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, val, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm2, ierr)
      val = 0
      call MPI_COMM_GET_ATTR(comm2, key, val, there, ierr)
      if (.not. there .or. val .ne. -5) stop 21
      t = MPI_WTIME()
      if (t .le. 0) stop 22
      call mpi1()
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0) print '(a)', 'ok header'
      end
! What MPI-3.0 removed and programs still call, each under both names.
      subroutine mpi1()
      implicit none
      include 'mpif.h'
      integer ierr, i, type(3), new(3), bounds(3), blocks(2), places(2)
      integer comm, key, val
      integer handler, before, seen
      logical there
      common /handled/ seen
      external failed, oldcopy, olddel
      i = -1
      call MPI_ADDRESS(MPI_BOTTOM, i, ierr)
      if (i .ne. 0 .or. ierr .ne. MPI_SUCCESS) stop 30
      i = -1
      call PMPI_ADDRESS(MPI_BOTTOM, i, ierr)
      if (i .ne. 0 .or. ierr .ne. MPI_SUCCESS) stop 31
      blocks = 1
      places(1) = 4
      places(2) = 12
      type = MPI_INTEGER
      call MPI_TYPE_HVECTOR(3, 1, 8, MPI_INTEGER, new(1), ierr)
      call MPI_TYPE_HINDEXED(2, blocks, places, MPI_INTEGER, new(2),
     &  ierr)
      call MPI_TYPE_STRUCT(2, blocks, places, type, new(3), ierr)
      do i = 1, 3
        call MPI_TYPE_LB(new(i), bounds(1), ierr)
        call MPI_TYPE_UB(new(i), bounds(2), ierr)
        call MPI_TYPE_EXTENT(new(i), bounds(3), ierr)
        call right_type(new(i), i, bounds)
      enddo
      call PMPI_TYPE_HVECTOR(3, 1, 8, MPI_INTEGER, new(1), ierr)
      call PMPI_TYPE_HINDEXED(2, blocks, places, MPI_INTEGER, new(2),
     &  ierr)
      call PMPI_TYPE_STRUCT(2, blocks, places, type, new(3), ierr)
      do i = 1, 3
        call PMPI_TYPE_LB(new(i), bounds(1), ierr)
        call PMPI_TYPE_UB(new(i), bounds(2), ierr)
        call PMPI_TYPE_EXTENT(new(i), bounds(3), ierr)
        call right_type(new(i), i, bounds)
      enddo
! A handler sees the error of a rank that no process has. What the call answers then is the C library's: MPICH 5.0.2 answers success
! over the standard ABI.
      seen = 0
      call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierr)
      call MPI_ERRHANDLER_CREATE(failed, handler, ierr)
      call MPI_ERRHANDLER_SET(comm, handler, ierr)
      call MPI_ERRHANDLER_GET(comm, before, ierr)
      if (before .ne. handler) stop 34
      call MPI_SEND(i, 1, MPI_INTEGER, 5, 1, comm, ierr)
      if (seen .ne. MPI_ERR_RANK) stop 35
      call MPI_ERRHANDLER_FREE(handler, ierr)
      seen = 0
      call PMPI_ERRHANDLER_CREATE(failed, handler, ierr)
      call PMPI_ERRHANDLER_SET(comm, handler, ierr)
      call PMPI_ERRHANDLER_GET(comm, before, ierr)
      call MPI_SEND(i, 1, MPI_INTEGER, 5, 1, comm, ierr)
      if (before .ne. handler .or. seen .ne. MPI_ERR_RANK) stop 36
      call MPI_COMM_FREE(comm, ierr)
! Attributes whose values are default integers.
      call MPI_KEYVAL_CREATE(oldcopy, olddel, key, 7, ierr)
      call MPI_ATTR_PUT(MPI_COMM_SELF, key, -9, ierr)
      call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierr)
      call MPI_ATTR_GET(comm, key, val, there, ierr)
      if (.not. there .or. val .ne. -2) stop 37
      call PMPI_ATTR_PUT(comm, key, -9, ierr)
      call PMPI_ATTR_GET(comm, key, val, there, ierr)
      if (.not. there .or. val .ne. -9) stop 38
      call MPI_ATTR_DELETE(comm, key, ierr)
      call MPI_ATTR_GET(comm, key, val, there, ierr)
      if (there .or. ierr .ne. MPI_SUCCESS) stop 39
      call PMPI_ATTR_DELETE(MPI_COMM_SELF, key, ierr)
      call MPI_COMM_FREE(comm, ierr)
      call MPI_KEYVAL_FREE(key, ierr)
      if (key .ne. MPI_KEYVAL_INVALID) stop 40
      call PMPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 0,
     &  ierr)
      call MPI_ATTR_PUT(MPI_COMM_SELF, key, 11, ierr)
      call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierr)
      call MPI_ATTR_GET(comm, key, val, there, ierr)
      if (.not. there .or. val .ne. 11) stop 41
      call MPI_COMM_FREE(comm, ierr)
      call MPI_ATTR_DELETE(MPI_COMM_SELF, key, ierr)
      call PMPI_KEYVAL_FREE(key, ierr)
      call MPI_KEYVAL_CREATE(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, key,
     &  0, ierr)
      call MPI_ATTR_PUT(MPI_COMM_SELF, key, 11, ierr)
      call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierr)
      call MPI_ATTR_GET(comm, key, val, there, ierr)
      if (there) stop 42
      call MPI_COMM_FREE(comm, ierr)
      call MPI_ATTR_DELETE(MPI_COMM_SELF, key, ierr)
      call MPI_KEYVAL_FREE(key, ierr)
      end
! Which integers of eight such a type takes, and its bounds.
      subroutine right_type(type, which, bounds)
      implicit none
      include 'mpif.h'
      integer type, which, bounds(3), from(8), to(8), wanted(8), ierr
      integer i
      do i = 1, 8
        from(i) = i
      enddo
      to = 0
      wanted = 0
      if (which .eq. 1) then
        wanted(1) = 1
        wanted(3) = 3
        wanted(5) = 5
        if (bounds(1) .ne. 0 .or. bounds(2) .ne. 20) stop 32
      else
        wanted(2) = 2
        wanted(4) = 4
        if (bounds(1) .ne. 4 .or. bounds(2) .ne. 16) stop 32
      endif
      if (bounds(3) .ne. bounds(2) - bounds(1)) stop 32
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_SENDRECV(from, 1, type, 0, 3, to, 1, type, 0, 3,
     &  MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
      if (any(to .ne. wanted)) stop 33
      call MPI_TYPE_FREE(type, ierr)
      end
      subroutine failed(comm, code)
      implicit none
      include 'mpif.h'
      integer comm, code, seen, ierr
      common /handled/ seen
      call MPI_ERROR_CLASS(code, seen, ierr)
      end
      subroutine oldcopy(c, k, extra, vin, vout, flag, ierr)
      implicit none
      include 'mpif.h'
      integer c, k, extra, vin, vout, ierr
      logical flag
      vout = vin + extra
      flag = .true.
      ierr = MPI_SUCCESS
      end
      subroutine olddel(c, k, val, extra, ierr)
      implicit none
      include 'mpif.h'
      integer c, k, val, extra, ierr
      ierr = MPI_SUCCESS
      if (extra .ne. 7 .or. val .ne. -9 .and. val .ne. -2)
     &  ierr = MPI_ERR_OTHER
      end
      subroutine mysum(a, b, n, t)
      integer n, t, i, a(n), b(n)
      do i = 1, n
        b(i) = a(i) + b(i)
      enddo
      end
      subroutine mycopy(c, k, extra, vin, vout, flag, ierr)
      include 'mpif.h'
      integer c, k, ierr
      integer(kind=MPI_ADDRESS_KIND) extra, vin, vout
      logical flag
      vout = vin + extra
      flag = .true.
      ierr = MPI_SUCCESS
      end
      subroutine mydel(c, k, val, extra, ierr)
      include 'mpif.h'
      integer c, k, ierr
      integer(kind=MPI_ADDRESS_KIND) extra, val
      ierr = MPI_SUCCESS
      if (val .ne. 47 .and. val .ne. 40) ierr = MPI_ERR_OTHER
      end

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
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0) print '(a)', 'ok header'
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

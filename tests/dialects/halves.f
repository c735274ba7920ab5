! Fortran and C in one program: handles, statuses, attributes, operations and error handlers of the one in the other. A failed
! check ends with its number.
      program halves
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, comm, dup, st(MPI_STATUS_SIZE), op, type
      integer req(3), sts(MPI_STATUS_SIZE,3), idx(3), n, i, value(3)
      integer handler, key, length, made
      integer seen
      common /seen/ seen
      logical flag
      integer(kind=MPI_ADDRESS_KIND) val, extra
      character*(MPI_MAX_OBJECT_NAME) name
      character*(MPI_MAX_ERROR_STRING) text
      integer c_same, c_status, c_attribute
      external c_same, c_status, c_attribute
      external sum_of_integers, on_error, query, free, cancel
      external copy, delete

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      call MPI_INITIALIZED(flag, ierr)
      if (.not. flag .or. transfer(flag, 1) .ne. 1) stop 11

! What both languages have is the same in both.
      i = c_same(MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL,
     &  MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_DATATYPE_NULL, MPI_SUM,
     &  MPI_OP_NULL, MPI_REQUEST_NULL, MPI_GROUP_EMPTY, MPI_INFO_NULL,
     &  MPI_ERRORS_RETURN, MPI_WIN_NULL, MPI_FILE_NULL)
      if (i .ne. 0) stop 12

! Handles that one makes and the other uses.
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call c_made(comm, dup, type)
      call MPI_COMM_COMPARE(comm, dup, i, ierr)
      if (i .ne. MPI_CONGRUENT) stop 13
      call MPI_TYPE_SIZE(type, i, ierr)
      if (i .ne. 12) stop 14

! A status is the same bytes.
      value = rank
      call MPI_IRECV(value(2), 1, MPI_INTEGER, MPI_ANY_SOURCE,
     &  MPI_ANY_TAG, dup, req(1), ierr)
      call MPI_SEND(rank, 1, MPI_INTEGER, mod(rank+1,size), 7, dup,
     &  ierr)
      call MPI_WAIT(req(1), st, ierr)
      if (req(1) .ne. MPI_REQUEST_NULL) stop 15
      if (st(MPI_SOURCE) .ne. mod(rank+size-1,size)) stop 16
      if (st(MPI_TAG) .ne. 7) stop 17
      if (c_status(st, mod(rank+size-1,size), 7) .ne. 0) stop 18
      call MPI_GET_COUNT(st, MPI_INTEGER, i, ierr)
      if (i .ne. 1) stop 19
      call MPI_RECV(value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, dup, st,
     &  ierr)
      if (st(MPI_SOURCE) .ne. MPI_PROC_NULL) stop 20
      if (st(MPI_TAG) .ne. MPI_ANY_TAG) stop 21

! Positions count from 1, and arrays of statuses have the dialect's stride.
      req(1) = MPI_REQUEST_NULL
      call MPI_IRECV(value(2), 1, MPI_INTEGER, rank, 1, dup, req(2),
     &  ierr)
      call MPI_IRECV(value(3), 1, MPI_INTEGER, rank, 2, dup, req(3),
     &  ierr)
      call MPI_SEND(5, 1, MPI_INTEGER, rank, 1, dup, ierr)
      call MPI_WAITANY(3, req, i, st, ierr)
      if (i .ne. 2 .or. st(MPI_TAG) .ne. 1) stop 22
      call MPI_SEND(6, 1, MPI_INTEGER, rank, 2, dup, ierr)
      call MPI_WAITSOME(3, req, n, idx, sts, ierr)
      if (n .ne. 1 .or. idx(1) .ne. 3) stop 23
      if (sts(MPI_TAG,1) .ne. 2) stop 24
      call MPI_WAITALL(3, req, MPI_STATUSES_IGNORE, ierr)
      call MPI_WAITANY(3, req, i, MPI_STATUS_IGNORE, ierr)
      if (i .ne. MPI_UNDEFINED) stop 25

! An operation gets Fortran's integer of the datatype.
      call MPI_OP_CREATE(sum_of_integers, .true., op, ierr)
      i = rank + 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, i, 1, MPI_INTEGER, op, comm,
     &  ierr)
      if (i .ne. size*(size+1)/2) stop 26
      call MPI_OP_FREE(op, ierr)
      if (op .ne. MPI_OP_NULL) stop 27

! An error handler gets Fortran's integer of the communicator.
      seen = comm
      call MPI_COMM_CREATE_ERRHANDLER(on_error, handler, ierr)
      call MPI_COMM_SET_ERRHANDLER(comm, handler, ierr)
      call MPI_SEND(i, 1, MPI_INTEGER, size, 1, comm, ierr)
      if (seen .ne. -1) stop 28
      call MPI_ERROR_CLASS(ierr, i, ierr)
      if (i .ne. MPI_ERR_RANK) stop 29
      call MPI_ERROR_STRING(MPI_ERR_RANK, text, length, ierr)
      if (length .lt. 1 .or. text(length+1:) .ne. ' ') stop 30

! Attributes of the one in the other, and those that are there.
      extra = 3
      call MPI_COMM_CREATE_KEYVAL(copy, delete, key, extra, ierr)
      val = 40
      call MPI_COMM_SET_ATTR(comm, key, val, ierr)
      if (c_attribute(comm, key, 40) .ne. 0) stop 31
      call MPI_COMM_DUP(comm, made, ierr)
      call MPI_COMM_GET_ATTR(made, key, val, flag, ierr)
      if (.not. flag .or. val .ne. 43) stop 32
      seen = made
      call MPI_COMM_FREE(made, ierr)
      if (seen .ne. -2) stop 33
      call c_attribute_set(comm, key, val)
      extra = 0
      call MPI_COMM_GET_ATTR(comm, key, extra, flag, ierr)
      if (.not. flag .or. val .ne. extra) stop 34
      seen = comm
      call MPI_COMM_DELETE_ATTR(comm, key, ierr)
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, val, flag,
     &  ierr)
      if (.not. flag .or. val .lt. 32767) stop 35
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_IO, val, flag, ierr)
      if (.not. flag .or. val .ne. MPI_ANY_SOURCE) stop 36
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_LASTUSEDCODE, val,
     &  flag, ierr)
      if (.not. flag .or. val .lt. MPI_ERR_LASTCODE) stop 37

! A generalized request's procedures fill a status of the dialect.
      extra = 9
      call MPI_GREQUEST_START(query, free, cancel, extra, req(1), ierr)
      call MPI_GREQUEST_COMPLETE(req(1), ierr)
      call MPI_WAIT(req(1), st, ierr)
      call MPI_GET_COUNT(st, MPI_INTEGER, i, ierr)
      if (i .ne. 9 .or. st(MPI_TAG) .ne. 17) stop 38

      call MPI_COMM_SET_NAME(comm, 'two words   ', ierr)
      call MPI_COMM_GET_NAME(comm, name, length, ierr)
      if (length .ne. 9 .or. name .ne. 'two words') stop 39
      call MPI_COMM_FREE(comm, ierr)
      if (comm .ne. MPI_COMM_NULL) stop 40
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0) print *, 'ok halves'
      end

      subroutine sum_of_integers(in, inout, n, type)
      include 'mpif.h'
      integer n, in(n), inout(n), type
      if (type .ne. MPI_INTEGER) stop 50
      inout = inout + in
      end

      subroutine on_error(comm, code)
      include 'mpif.h'
      integer comm, code, class, ierr
      integer seen
      common /seen/ seen
      call MPI_ERROR_CLASS(code, class, ierr)
      if (comm .ne. seen .or. class .ne. MPI_ERR_RANK) stop 51
      seen = -1
      end

      subroutine copy(comm, key, extra, in, out, flag, ierr)
      include 'mpif.h'
      integer comm, key, ierr
      integer(kind=MPI_ADDRESS_KIND) extra, in, out
      logical flag
      out = in + extra
      flag = .true.
      ierr = MPI_SUCCESS
      end

      subroutine delete(comm, key, value, extra, ierr)
      include 'mpif.h'
      integer comm, key, ierr
      integer(kind=MPI_ADDRESS_KIND) value, extra
      integer seen
      common /seen/ seen
      if (comm .eq. seen) seen = -2
      ierr = MPI_SUCCESS
      end

      subroutine query(extra, st, ierr)
      include 'mpif.h'
      integer st(MPI_STATUS_SIZE), ierr
      integer(kind=MPI_ADDRESS_KIND) extra
      call MPI_STATUS_SET_ELEMENTS(st, MPI_INTEGER, int(extra), ierr)
      call MPI_STATUS_SET_CANCELLED(st, .false., ierr)
      st(MPI_SOURCE) = MPI_UNDEFINED
      st(MPI_TAG) = 17
      ierr = MPI_SUCCESS
      end

      subroutine free(extra, ierr)
      include 'mpif.h'
      integer ierr
      integer(kind=MPI_ADDRESS_KIND) extra
      ierr = MPI_SUCCESS
      end

      subroutine cancel(extra, complete, ierr)
      include 'mpif.h'
      integer ierr
      logical complete
      integer(kind=MPI_ADDRESS_KIND) extra
      ierr = MPI_SUCCESS
      end

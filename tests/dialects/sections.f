! Sections of arrays as MPICH's module mpi_f08 hands them on: gfortran's own descriptors, and types of handles that have an
! integer each. A failed check ends with its number.
      program sections
      implicit none
      include 'mpif.h'
      interface
        subroutine MPI_Isend_f08ts(buf, n, type, to, tag, comm, req,
     &    ierr)
          type(*), dimension(..), asynchronous, intent(in) :: buf
          integer n, type, to, tag, comm, req, ierr
        end subroutine
        subroutine MPI_Irecv_f08ts(buf, n, type, from, tag, comm, req,
     &    ierr)
          type(*), dimension(..), asynchronous :: buf
          integer n, type, from, tag, comm, req, ierr
        end subroutine
        subroutine MPI_Send_f08ts(buf, n, type, to, tag, comm, ierr)
          type(*), dimension(..), intent(in) :: buf
          integer n, type, to, tag, comm, ierr
        end subroutine
        subroutine MPI_Iallreduce_f08ts(in, out, n, type, op, comm,
     &    req, ierr)
          type(*), dimension(..), asynchronous, intent(in) :: in
          type(*), dimension(..), asynchronous :: out
          integer n, type, op, comm, req, ierr
        end subroutine
        subroutine MPI_Allreduce_init_f08ts(in, out, n, type, op, comm,
     &    info, req, ierr)
          type(*), dimension(..), asynchronous, intent(in) :: in
          type(*), dimension(..), asynchronous :: out
          integer n, type, op, comm, info, req, ierr
        end subroutine
      end interface
      integer ierr, rank, size, req(2), i, total
      integer, asynchronous :: a(6,6), b(8), c(4)

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      total = size * (size + 1) / 2

! Of rank 2, forwards and backwards.
      a = reshape([(i, i = 1, 36)], [6, 6])
      b = 0
      call MPI_Irecv_f08ts(b(7:1:-2), 4, MPI_INTEGER, 0, 1,
     &  MPI_COMM_SELF, req(1), ierr)
      call MPI_Isend_f08ts(a(2:6:2,::5), 4, MPI_INTEGER, 0, 1,
     &  MPI_COMM_SELF, req(2), ierr)
      call MPI_WAITALL(2, req, MPI_STATUSES_IGNORE, ierr)
      if (any(b /= [32, 0, 6, 0, 4, 0, 2, 0])) stop 11

! A blocking call.
      call MPI_Irecv_f08ts(c, 3, MPI_INTEGER, 0, 2, MPI_COMM_SELF,
     &  req(1), ierr)
      call MPI_Send_f08ts(b(7:3:-2), 3, MPI_INTEGER, 0, 2,
     &  MPI_COMM_SELF, ierr)
      call MPI_WAIT(req(1), MPI_STATUS_IGNORE, ierr)
      if (any(c(1:3) /= [2, 4, 6])) stop 12

! The last rank begins when the first one has begun.
      b = 0
      c = rank + 1
      call turn(size - 1)
      call MPI_Iallreduce_f08ts(c(1:3:2), b(2::4), 2, MPI_INTEGER,
     &  MPI_SUM, MPI_COMM_WORLD, req(1), ierr)
      call turn(0)
      call MPI_WAIT(req(1), MPI_STATUS_IGNORE, ierr)
      if (any(b([2,6]) /= total)) stop 13
      if (any(b([1,3,4,5,7,8]) /= 0)) stop 14

! A persistent one copies anew at each start.
      call MPI_Allreduce_init_f08ts(c(::2), b(::4), 2, MPI_INTEGER,
     &  MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req(1), ierr)
      do i = 1, 3
        c = i * (rank + 1)
        b = 0
        call turn(size - 1)
        call MPI_START(req(1), ierr)
        call turn(0)
        call MPI_WAIT(req(1), MPI_STATUS_IGNORE, ierr)
        if (any(b([1,5]) /= i * total)) stop 15
        if (any(b([2,3,4,6,7,8]) /= 0)) stop 16
      end do
      call MPI_REQUEST_FREE(req(1), ierr)

      call empty(5, 2)
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0) print *, 'ok sections'
      contains

! The last rank waits for the first one.
      subroutine turn(mine)
      integer mine, word
      word = 0
      if (size .eq. 1 .or. rank .ne. mine) return
      if (rank .eq. 0) call MPI_SEND(word, 1, MPI_INTEGER, size-1, 3,
     &  MPI_COMM_WORLD, ierr)
      if (rank .ne. 0) call MPI_RECV(word, 1, MPI_INTEGER, 0, 3,
     &  MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      end subroutine

! No elements, and an extent below zero in the descriptor.
      subroutine empty(lower, upper)
      integer lower, upper
      integer, asynchronous :: none(lower:upper,4), few(2,4,lower:upper)
      call MPI_Irecv_f08ts(none(:,::2), 0, MPI_INTEGER, 0, 4,
     &  MPI_COMM_SELF, req(1), ierr)
      call MPI_Isend_f08ts(few(::2,:,:), 0, MPI_INTEGER, 0, 4,
     &  MPI_COMM_SELF, req(2), ierr)
      call MPI_WAITALL(2, req, MPI_STATUSES_IGNORE, ierr)
      end subroutine
      end

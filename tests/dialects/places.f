c Two calls at line 7: a profile sees each once.
      program places
      include 'mpif.h'
      integer i, ierror
      i = 0
      call MPI_INIT(ierror)
   10 call MPI_BARRIER(MPI_COMM_WORLD, ierror)
      i = i + 1
      if (i .eq. 1) goto 10
      call MPI_FINALIZE(ierror)
      end

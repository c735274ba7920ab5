# A debugger by the interface MPIR: it starts mpiexec, has the table of processes, looks at a rank, and lets all go on.
set pagination off
set confirm off
set breakpoint pending on
set debuginfod enabled off
set language c
break main
run
delete
set var MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
printf "state %d size %d starter %d\n", MPIR_debug_state, MPIR_proctable_size, MPIR_i_am_starter
set $rank = 0
while $rank < MPIR_proctable_size
  printf "rank %d process %d on %s runs %s\n", $rank, MPIR_proctable[$rank].pid, MPIR_proctable[$rank].host_name, MPIR_proctable[$rank].executable_name
  set $rank = $rank + 1
end
# The ranks are in MPI_Init until this process goes on.
shell sleep 0.3; echo "lines so far: $(grep -c 'sends' "$ALHENA_TEST_OUT")"
delete
continue
quit

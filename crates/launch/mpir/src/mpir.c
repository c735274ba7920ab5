/* What debuggers look for in the starter of a parallel job: The MPIR Process Acquisition Interface, version 1.1 (MPI Forum, 2018).
   The names, the types and their members are those of that document. */

typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

enum { SPAWNED = 1, ABORTING = 2 };

/* One entry for each rank, in their order. */
MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
/* The debugger sets it before the starter goes on. */
volatile int MPIR_being_debugged;
volatile int MPIR_debug_state;
char *MPIR_debug_abort_string;
/* By being there: this process is the starter; its ranks wait in MPI_Init until it goes on. */
int MPIR_i_am_starter;
int MPIR_partial_attach_ok;

/* The debugger stops here. */
__attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

int alhena_mpir_is_debugged(void)
{
    return MPIR_being_debugged != 0;
}

void alhena_mpir_spawned(MPIR_PROCDESC *processes, int size)
{
    MPIR_i_am_starter = MPIR_partial_attach_ok = 1;
    MPIR_proctable = processes;
    MPIR_proctable_size = size;
    MPIR_debug_state = SPAWNED;
    MPIR_Breakpoint();
}

void alhena_mpir_aborting(char *reason)
{
    MPIR_debug_abort_string = reason;
    MPIR_debug_state = ABORTING;
    MPIR_Breakpoint();
}

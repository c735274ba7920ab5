/* Many messages of all lengths between two ranks arrive in order and unharmed, and the performance variables tell what that took.
 *
 * usage: counted MESSAGES FAULTS    (FAULTS is not 0: frames are lost, repeated and damaged) */
#include <mpi.h>
#include <stdlib.h>
#include "check.h"

enum { MOST = 70000, WINDOW = 64 };

static MPI_T_pvar_session session;

/* A handle counts from its birth on. */
static MPI_T_pvar_handle watch(const char *name)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index = -1, count = 0;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index) == MPI_SUCCESS)
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    return handle;
}

/* Of both ranks. */
static unsigned long long value(MPI_T_pvar_handle handle)
{
    unsigned long long seen = 0, all = 0;
    MPI_T_pvar_read(session, handle, &seen);
    MPI_Allreduce(&seen, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static int length(long number)
{
    static const int bounds[] = {8, 64, 1000, 64, 8, 5000, 64, 8};
    return number % 1000 == 999 ? MOST : (int)(number * 7919 % bounds[number % 8]);
}

static unsigned char byte(long number, int at) { return (unsigned char)(number * 31 + at * 7 + (at >> 8)); }

int main(int argc, char **argv)
{
    long messages = argc > 1 ? atol(argv[1]) : 1000, bad = 0;
    int faults = argc > 2 && atoi(argv[2]), me, provided;
    unsigned char *buffer[WINDOW];
    MPI_Request request[WINDOW];

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_T_pvar_handle all_frames = watch("btl_dr_frames"), all_again = watch("btl_dr_resent");
    MPI_T_pvar_handle all_damaged = watch("btl_dr_damaged"), all_twice = watch("btl_dr_duplicates");
    for (int slot = 0; slot < WINDOW; slot++)
        buffer[slot] = malloc(MOST + 1), request[slot] = MPI_REQUEST_NULL;
    for (long first = 0; first < messages; first += WINDOW) {
        for (int slot = 0; slot < WINDOW; slot++) {
            long number = first + slot;
            if (me == 0) {
                for (int at = 0; at < length(number); at++)
                    buffer[slot][at] = byte(number, at);
                MPI_Isend(buffer[slot], length(number), MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request[slot]);
            } else
                MPI_Irecv(buffer[slot], MOST + 1, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request[slot]);
        }
        for (int slot = 0; slot < WINDOW; slot++) {
            MPI_Status status;
            long number = first + slot;
            int got;
            MPI_Wait(&request[slot], &status);
            if (me == 0)
                continue;
            MPI_Get_count(&status, MPI_BYTE, &got);
            bad += got != length(number);
            for (int at = 0; at < got; at++)
                bad += buffer[slot][at] != byte(number, at);
        }
    }
    check_all(bad == 0, "%ld messages arrive in order and unharmed", messages);
    unsigned long long frames = value(all_frames), resent = value(all_again);
    unsigned long long damaged = value(all_damaged), twice = value(all_twice);
    if (me == 0) {
        check(frames >= (unsigned long long)messages, "each is a frame at least", (long)frames);
        if (faults) {
            check(resent > 0 && damaged > 0 && twice > 0, "some were lost, damaged and repeated", (long)resent);
            check(resent < frames / 4, "few are sent again", (long)resent);
        } else
            check(damaged == 0, "none was damaged", (long)damaged);
        fprintf(stderr, "%llu frames, %llu again, %llu damaged, %llu twice\n", frames, resent, damaged, twice);
    }
    return finish();
}

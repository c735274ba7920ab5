/* What Alhena has beyond MPI: the light interface, one-sided communication with little between the program and the transport; and
 * access to data that is staged on its way to a file.
 *
 * Memory is registered by creating a window (MPI_Win_allocate, MPI_Win_create, …) and given back by MPI_Win_free. The functions here
 * need no epoch, no datatype and no displacement unit: offsets are in bytes from the beginning of the target's memory. They may be
 * mixed with those of MPI on the same window; accumulates of MPI on MPI_UINT64_T and the atomic operations here are atomic to each other.
 *
 * All return MPI_SUCCESS or an error class of MPI, and call no error handler. Ranks are those of the window's group. The manual page
 * alhena.h(3) describes each function. Other MPI libraries lack this header: programs can ask for it by __has_include(<alhena.h>). */
#ifndef ALHENA_H
#define ALHENA_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of alhena_flush: the operations on all ranks. */
#define ALHENA_ALL (-1)
/* Notices of each rank and window, handlers of each process, and bytes of the payload of alhena_send_words. */
#define ALHENA_NOTICES 16
#define ALHENA_HANDLERS 256
#define ALHENA_WORDS_BYTES 16

/* Writes to and reads from the memory of a rank. The origin of a put must stay as it is until alhena_flush, since a network may read it
 * until then; what a get has read is there after alhena_flush. */
int alhena_put(const void *origin, size_t bytes, int rank, MPI_Aint offset, MPI_Win win);
int alhena_get(void *origin, size_t bytes, int rank, MPI_Aint offset, MPI_Win win);

/* Waits until all operations of this process on a rank are done there, and the handlers of its messages have returned. */
int alhena_flush(int rank, MPI_Win win);

/* The same with a notice: a counter of the target, below ALHENA_NOTICES, that grows by 1 after the data was written there, or read. The
 * origin of a put is free when the call returns. */
int alhena_rput(const void *origin, size_t bytes, int rank, MPI_Aint offset, int notice, MPI_Win win);
int alhena_rget(void *origin, size_t bytes, int rank, MPI_Aint offset, int notice, MPI_Win win);

/* Waits until a notice of this process is at least `least`, and stores what it is; `least` 0 asks only. `count` may be NULL. Where a
 * process of the window ends, the next call that has to wait gives MPI_ERR_PROC_ABORTED, once for each; those that follow wait for the
 * processes that live. */
int alhena_notices(int notice, uint64_t least, uint64_t *count, MPI_Win win);

/* Atomic operations on 8 bytes at a multiple of 8. `before` gets what was there, and holds it after alhena_flush. */
int alhena_add(uint64_t operand, int rank, MPI_Aint offset, MPI_Win win);
int alhena_fetch_add(uint64_t operand, uint64_t *before, int rank, MPI_Aint offset, MPI_Win win);
int alhena_swap(uint64_t operand, uint64_t *before, int rank, MPI_Aint offset, MPI_Win win);
int alhena_compare_swap(uint64_t operand, uint64_t compare, uint64_t *before, int rank, MPI_Aint offset, MPI_Win win);

/* Active messages. A handler runs inside a call of MPI or of this interface that waits or makes progress; the payload is valid while it
 * runs. It may start operations and send messages, but must not wait. */
typedef void alhena_handler(MPI_Win win, int source, const void *payload, size_t bytes, void *context);

/* Sets the function of a handler of this process, below ALHENA_HANDLERS; NULL takes it back. */
int alhena_set_handler(int handler, alhena_handler *function, void *context);
/* The longest payload that a message to a rank takes. */
int alhena_message_limit(int rank, size_t *bytes, MPI_Win win);
/* Has a rank call a handler with a copy of the payload: ordinary messages of bytes, immediate ones of two words. Messages to a rank are
 * handled in the order in which they were sent. */
int alhena_send(int handler, const void *payload, size_t bytes, int rank, MPI_Win win);
int alhena_send_words(int handler, uint64_t first, uint64_t second, int rank, MPI_Win win);
/* Makes progress once, and runs the handlers that are due. */
int alhena_progress(void);

/* Data that writes have staged (hint and parameter io_staging) and that a thread of the library writes behind: an analysis reads it
 * while the simulation goes on. The functions are not collective, and any process that has the file open may call them about any rank of
 * it; a file that stages nothing has counts of 0 and is read as it is. */

/* Bytes that a rank has staged since the file was opened, and those of them that are through to the file system. Any pointer may be NULL. */
int alhena_staged(MPI_File file, int rank, uint64_t *taken, uint64_t *written);
/* Reads bytes of the file from an offset on, in bytes of the file and not of a view, as they are when all is written that the rank holds.
 * `read` gets how many there are before the end of the file; it may be NULL. */
int alhena_read_staged(MPI_File file, int rank, MPI_Offset offset, void *into, size_t bytes, size_t *read);

#ifdef __cplusplus
}
#endif

#endif

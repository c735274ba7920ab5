/* All requests that there are (2^23) are in use: a call that needs one more fails and changes nothing. The message of a failed
 * MPI_Imrecv can still be received; a failed MPI_Sendrecv leaves no receive behind, and its message to the next one. Takes
 * about a gigabyte. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { ALL = 1 << 23, SPARE = 16 };
static MPI_Request requests[ALL];

int main(int argc, char **argv)
{
    static char big[1 << 20], copy[1 << 20];
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, n = 0, flag, result, word = 5, got = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    MPI_Comm other;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    MPI_Send(out, 4, MPI_INT, 0, 1, other);
    MPI_Mprobe(0, 1, other, &message, &status);
    while (n < ALL && MPI_Irecv(&word, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[n]) == MPI_SUCCESS)
        n++;
    check(n == ALL, "there are 2^23 requests", n);
    result = class_of(MPI_Imrecv(in, 4, MPI_INT, &message, &request));
    check(result != MPI_SUCCESS && message != MPI_MESSAGE_NULL, "MPI_Imrecv without a request fails and leaves the message", result);
    result = class_of(MPI_Sendrecv(big, sizeof big, MPI_CHAR, 0, 3, &got, 1, MPI_INT, 0, 4, other, &status));
    check(result != MPI_SUCCESS, "MPI_Sendrecv without a request fails", result);
    MPI_Cancel(&requests[--n]);
    MPI_Wait(&requests[n], &status);
    result = class_of(MPI_Sendrecv(big, sizeof big, MPI_CHAR, 0, 3, &got, 1, MPI_INT, 0, 4, other, &status));
    check(result != MPI_SUCCESS, "or with one of the two", result);
    result = class_of(MPI_Isendrecv(big, sizeof big, MPI_CHAR, 0, 3, &got, 1, MPI_INT, 0, 4, other, &request));
    check(result != MPI_SUCCESS, "MPI_Isendrecv, too", result);
    result = class_of(MPI_Imrecv(in, 4, MPI_INT, &message, &request));
    check(result == MPI_SUCCESS && MPI_Wait(&request, &status) == MPI_SUCCESS && in[3] == 4, "the message is received", in[3]);
    while (n > ALL - SPARE - 10) {
        MPI_Cancel(&requests[--n]);
        MPI_Wait(&requests[n], &status);
    }
    MPI_Isend(&word, 1, MPI_INT, 0, 4, other, &request);
    MPI_Recv(in, 1, MPI_INT, 0, 4, other, &status);
    MPI_Wait(&request, &status);
    check(in[0] == 5 && got == 0, "no receive is left behind", got);
    MPI_Iprobe(0, MPI_ANY_TAG, other, &flag, &status);
    check(!flag, "nor a message", flag);
    MPI_Sendrecv(big, sizeof big, MPI_CHAR, 0, 3, copy, sizeof copy, MPI_CHAR, 0, 3, other, &status);
    while (n > 0)
        MPI_Cancel(&requests[--n]);
    for (n = 0; n < ALL && requests[n] != MPI_REQUEST_NULL; n++)
        MPI_Wait(&requests[n], &status);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return check_failures != 0;
}

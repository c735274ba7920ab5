/* The other half of languages.f90: each function gives 0, or the number of the check that failed. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long thing;

int reads_integer(int comm, int key, long expected) {
    long *value;
    int flag = 0;
    MPI_Comm_get_attr(MPI_Comm_fromint(comm), key, &value, &flag);
    if (!flag) return 101;
    if (key == MPI_TAG_UB) return *(int *)value >= 32767 ? 0 : 102;
    return *value == expected ? 0 : 103;
}

static int hands_on(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag) {
    (void)comm, (void)key;
    if (state != &thing) return MPI_ERR_ARG;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forgets(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)value;
    return state == &thing ? MPI_SUCCESS : MPI_ERR_ARG;
}

int makes_key(void) {
    int key;
    MPI_Comm_create_keyval(hands_on, forgets, &key, &thing);
    return key;
}

long sets_pointer(int comm, int key) {
    MPI_Comm_set_attr(MPI_Comm_fromint(comm), key, &thing);
    return (long)&thing;
}

int reduces(int comm, int op) {
    int size, rank, x;
    MPI_Comm_size(MPI_Comm_fromint(comm), &size);
    MPI_Comm_rank(MPI_Comm_fromint(comm), &rank);
    MPI_Allreduce(&rank, &x, 1, MPI_INTEGER, MPI_Op_fromint(op), MPI_Comm_fromint(comm));
    return x == size * (size - 1) / 2 + size - 1 ? 0 : 104;
}

static void add_ten(void *in, void *inout, int *count, MPI_Datatype *type) {
    if (*type != MPI_INTEGER) abort();
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i] + 10;
}

int makes_op(void) {
    MPI_Op op;
    MPI_Op_create(add_ten, 1, &op);
    return MPI_Op_toint(op);
}

int provokes(int comm, int handler) {
    MPI_Errhandler errhandler = MPI_Errhandler_fromint(handler);
    int x = 0, code;
    MPI_Comm_set_errhandler(MPI_Comm_fromint(comm), errhandler);
    code = MPI_Send(&x, 1, MPI_INT, 5, 1, MPI_Comm_fromint(comm));
    MPI_Comm_set_errhandler(MPI_Comm_fromint(comm), MPI_ERRORS_ARE_FATAL);
    MPI_Error_class(code, &code);
    return code;
}

int completes(int number) {
    MPI_Request request = MPI_Request_fromint(number);
    MPI_Status status;
    int count;
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    return request == MPI_REQUEST_NULL && count == 12 && status.MPI_TAG == 77 ? 0 : 105;
}

int writes_file(void) {
    char name[] = "/tmp/languages-XXXXXX";
    int values[3] = {1, 2, 3}, raw[3], back[3], bad = 0;
    MPI_File file;
    FILE *plain;
    if (mkstemp(name) < 0) return 106;
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INTEGER, MPI_INTEGER, "negated", MPI_INFO_NULL);
    MPI_File_write_at(file, 0, values, 3, MPI_INTEGER, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, back, 3, MPI_INTEGER, MPI_STATUS_IGNORE);
    plain = fopen(name, "rb");
    if (!plain || fread(raw, sizeof raw, 1, plain) != 1 || raw[2] != -3) bad = 107;
    if (plain) fclose(plain);
    if (back[0] != 1 || back[2] != 3) bad = 108;
    MPI_File_close(&file);
    return bad;
}

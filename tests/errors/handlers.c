/* Which error handler an error goes to (MPI-5.0 section 9.3): that of the communicator of the call, also for requests;
 * that of MPI_COMM_SELF where a call has none. */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static MPI_Comm seen_comm;
static int seen_code, calls;

static void note(MPI_Comm *comm, int *code, ...)
{
    seen_comm = *comm;
    seen_code = *code;
    calls++;
}

static void expect(MPI_Comm comm, int class, const char *name)
{
    int seen = -1;
    MPI_Error_class(seen_code, &seen);
    check(seen_comm == comm && seen == class && calls == 1, name, calls * 1000 + seen);
    calls = 0;
    seen_comm = MPI_COMM_NULL;
}

static void truncate_later(MPI_Comm comm)
{
    int out[2] = {1, 2}, in = 0;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, comm, &request);
    MPI_Send(out, 2, MPI_INT, 0, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void user_codes(MPI_Comm comm)
{
    int class, code, length = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "the user's own error");
    MPI_Comm_call_errhandler(comm, code);
    CHECK_EQ(seen_code, code, "a user's code reaches the handler as it is");
    expect(comm, class, "and has the user's class");
    MPI_Error_string(code, text, &length);
    check(text[0] == 't' && length == 20, "and the user's string", length);
}

static void note_file(MPI_File *file, int *code, ...)
{
    (void)file;
    seen_code = *code;
    calls++;
}

/* A file keeps what was seen of its last error, and MPI_Error_string adds it to the text of MPI's own codes. */
static void codes_of_a_file(void)
{
    int class, code, length = 0;
    char text[MPI_MAX_ERROR_STRING], plain[MPI_MAX_ERROR_STRING], name[64];
    MPI_File file;
    MPI_Errhandler handler;
    snprintf(name, sizeof name, "/tmp/alhena-handlers-%d", (int)getpid());
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(class, "a class");
    MPI_Add_error_string(code, "a code");
    CHECK_EQ(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file),
             MPI_SUCCESS, "a file opens");
    MPI_File_create_errhandler(note_file, &handler);
    MPI_File_set_errhandler(file, handler);
    MPI_Errhandler_free(&handler);
    int codes[] = {class, code};
    const char *texts[] = {"a class", "a code"};
    for (int i = 0; i < 2; i++) {
        MPI_File_call_errhandler(file, codes[i]);
        check(calls == 1 && seen_code == codes[i], "a user's code reaches the handler of a file as it is", seen_code);
        calls = 0;
        MPI_Error_string(codes[i], text, &length);
        check(!strcmp(text, texts[i]) && length == (int)strlen(text), "and keeps the user's text", length);
    }
    MPI_Error_string(MPI_ERR_QUOTA, plain, &length);
    MPI_File_call_errhandler(file, MPI_ERR_QUOTA);
    MPI_Error_string(MPI_ERR_QUOTA, text, &length);
    check(!strcmp(text, plain), "a call of a file's handler is no failure, so the code's text stays", length);
    MPI_File_seek(file, -1, MPI_SEEK_SET);
    MPI_Error_string(seen_code, text, &length);
    check(strstr(text, "MPI_File_seek") && strstr(text, name), "a failure adds what was seen", length);
    calls = 0;
    MPI_File_close(&file);
}

static void other_code(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    *code = *code == MPI_ERR_RANK ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void changed_code(MPI_Comm comm)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(other_code, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    CHECK_EQ(MPI_Send(NULL, 0, MPI_INT, 1000000, 0, comm), MPI_SUCCESS, "a call returns the code that the handler leaves");
    CHECK_EQ(MPI_Send(NULL, 0, MPI_INT, 0, -7, comm), MPI_ERR_OTHER, "be it another error");
    CHECK_EQ(MPI_Comm_call_errhandler(comm, MPI_ERR_TAG), MPI_SUCCESS, "MPI_Comm_call_errhandler succeeds all the same");
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler, got;
    MPI_Comm other;
    int value = 0, bad = 1000000;
    MPI_Request request = (MPI_Request)0x1234567;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Comm_get_errhandler(other, &got);
    check(got == handler, "a duplicate has the error handler of its original", 0);
    MPI_Errhandler_free(&got);
    MPI_Send(&value, 1, MPI_INT, bad, 0, other);
    expect(other, MPI_ERR_RANK, "an error of a call goes to its communicator");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(MPI_COMM_SELF, MPI_ERR_REQUEST, "an error without a communicator goes to MPI_COMM_SELF");
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
    expect(MPI_COMM_SELF, MPI_ERR_COMM, "an error of MPI_COMM_NULL goes to MPI_COMM_SELF");
    truncate_later(other);
    expect(other, MPI_ERR_TRUNCATE, "an error of a request goes to the communicator of its operation");
    user_codes(other);
    codes_of_a_file();
    MPI_Errhandler_free(&handler);
    check(handler == MPI_ERRHANDLER_NULL, "a freed handler is null", 0);
    MPI_Send(&value, 1, MPI_INT, bad, 0, other);
    expect(other, MPI_ERR_RANK, "a freed handler works where it is set");
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    CHECK_EQ(MPI_Send(&value, 1, MPI_INT, bad, 0, other), MPI_ERR_RANK, "MPI_ERRORS_RETURN returns");
    CHECK_EQ(calls, 0, "and calls nothing");
    changed_code(other);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return check_failures != 0;
}

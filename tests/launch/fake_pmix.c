/* A PMIx client library without a server: the key space is a directory, FAKE_PMIX_DIR, whose files are values.
 *
 * FAKE_PMIX_SIZE ranks, the first half of them on node 0. Only what a client needs to join its job is here, with the
 * structures of the real library. As there, what ranks of other nodes have put is with the server, which a client does not
 * ask that wants an immediate answer; and a key that no rank has put is waited for.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct { char name[256]; uint32_t rank; } proc;
typedef struct { uint16_t type; union { char *string; uint32_t number; char bytes[24]; } data; } value;
typedef struct { char key[512]; uint32_t flags; value value; } info;
enum { SUCCESS = 0, NOT_FOUND = -46, STRING = 3, UINT32 = 14, GLOBAL = 3, RANK_WILDCARD = -2 };

static proc own;
static int fences;

static uint32_t number(const char *name) { return (uint32_t)atoi(getenv(name)); }

int PMIx_Init(proc *who, info *infos, size_t count)
{
    if (count != 0 || infos != NULL || sizeof(proc) != 260 || sizeof(value) != 32 || sizeof(info) != 552)
        return -1;
    strcpy(own.name, getenv("PMIX_NAMESPACE"));
    own.rank = number("PMIX_RANK");
    *who = own;
    return SUCCESS;
}

static int leave_mark(const char *what)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%u", getenv("FAKE_PMIX_DIR"), what, own.rank);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    return fd < 0 ? -1 : close(fd);
}

int PMIx_Finalize(const info *infos, size_t count)
{
    (void)infos;
    return count == 0 ? leave_mark("finalized") : -1;
}

int PMIx_Put(uint8_t scope, const char *key, value *given)
{
    char path[1024], whole[1100];
    if (scope != GLOBAL || given->type != STRING || strlen(key) > 511)
        return -1;
    snprintf(path, sizeof path, "%s/%s@%u", getenv("FAKE_PMIX_DIR"), key, own.rank);
    snprintf(whole, sizeof whole, "%s.new", path);
    FILE *file = fopen(whole, "w");
    if (!file || fputs(given->data.string, file) < 0 || fclose(file))
        return -1;
    return rename(whole, path);
}

int PMIx_Commit(void) { return SUCCESS; }

int PMIx_Fence(const proc *procs, size_t count, const info *infos, size_t given)
{
    char what[64], path[512];
    if (procs || count || given != 1 || strcmp(infos->key, "pmix.collect") || infos->value.type != 1)
        return -1;
    snprintf(what, sizeof what, "fence-%d", fences++);
    leave_mark(what);
    for (uint32_t rank = 0; rank < number("FAKE_PMIX_SIZE"); rank++) {
        struct stat status;
        snprintf(path, sizeof path, "%s/%s.%u", getenv("FAKE_PMIX_DIR"), what, rank);
        while (stat(path, &status) != 0)
            usleep(1000);
    }
    return SUCCESS;
}

static int give_number(value **made, uint32_t n)
{
    *made = calloc(1, sizeof(value));
    (*made)->type = UINT32;
    (*made)->data.number = n;
    return SUCCESS;
}

int PMIx_Get(const proc *of, const char *key, const info *infos, size_t count, value **made)
{
    uint32_t size = number("FAKE_PMIX_SIZE");
    char path[1024], text[4096];
    int immediate = count == 1 && !strcmp(infos->key, "pmix.immediate");
    if (count != (size_t)immediate || (!strncmp(key, "pmix.", 5) && !immediate))
        return -1;
    if (!strcmp(key, "pmix.job.size"))
        return of->rank == (uint32_t)RANK_WILDCARD ? give_number(made, size) : NOT_FOUND;
    if (!strcmp(key, "pmix.nodeid") && of->rank < size)
        return give_number(made, of->rank >= size / 2);
    if (!strcmp(key, "pmix.appnum"))
        return give_number(made, 5);
    snprintf(path, sizeof path, "%s/%s@%u", getenv("FAKE_PMIX_DIR"), key, of->rank);
    if (immediate && (!strncmp(key, "pmix.", 5) || (of->rank < size / 2) != (own.rank < size / 2)))
        return NOT_FOUND;
    FILE *file;
    while (!(file = fopen(path, "r"))) {
        if (immediate)
            return NOT_FOUND;
        usleep(1000);
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    *made = calloc(1, sizeof(value));
    (*made)->type = STRING;
    (*made)->data.string = strdup(text);
    return SUCCESS;
}

int PMIx_Abort(int status, const char *message, proc *procs, size_t count)
{
    (void)message;
    return status == 7 && !procs && !count ? leave_mark("aborted") : -1;
}

const char *PMIx_Get_version(void) { return "a library without a server"; }

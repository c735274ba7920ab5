/* Operations under way, completed in random order by the calls that complete. */
#include "random.h"
#include <sched.h>

enum { MOST = 24 };

static struct job *pending;
static int count;

void post(struct job *job, int now)
{
    job->statuses = get(sizeof(MPI_Status) * (job->n + 1));
    job->next = pending;
    pending = job;
    count++;
    if (now)
        complete_one(job, job->step);
    else if (count > MOST)
        complete_all(job->step);
}

int is_pending(const struct job *job)
{
    const struct job *j;
    for (j = pending; j; j = j->next)
        if (j == job)
            return 1;
    return 0;
}

/* Where the requests of several jobs stand in one array. */
struct origin {
    struct job *job;
    int index;
};

static void store(struct origin *origins, int at, const MPI_Request *requests, const MPI_Status *status)
{
    origins[at].job->requests[origins[at].index] = requests[at];
    origins[at].job->statuses[origins[at].index] = *status;
}

static void wait_any(MPI_Request *r, int n, struct origin *o, int test)
{
    int at, flag;
    MPI_Status status;
    for (;;) {
        flag = 1;
        if (test)
            MPI_Testany(n, r, &at, &flag, &status);
        else
            MPI_Waitany(n, r, &at, &status);
        if (!flag) {
            sched_yield();
            continue;
        }
        if (at == MPI_UNDEFINED)
            return;
        store(o, at, r, &status);
    }
}

static void wait_some(MPI_Request *r, int n, struct origin *o, int test)
{
    int done, i, *at = get(sizeof(int) * n);
    MPI_Status *status = get(sizeof *status * n);
    for (;;) {
        if (test)
            MPI_Testsome(n, r, &done, at, status);
        else
            MPI_Waitsome(n, r, &done, at, status);
        if (done == MPI_UNDEFINED)
            break;
        for (i = 0; i < done; i++)
            store(o, at[i], r, &status[i]);
        if (done == 0)
            sched_yield();
    }
    free(at);
    free(status);
}

static void wait_all(MPI_Request *r, int n, struct origin *o, int test)
{
    int i, flag = 0;
    MPI_Status *status = get(sizeof *status * n);
    if (test)
        for (MPI_Testall(n, r, &flag, status); !flag; MPI_Testall(n, r, &flag, status))
            sched_yield();
    else
        MPI_Waitall(n, r, status);
    for (i = 0; i < n; i++)
        store(o, i, r, &status[i]);
    free(status);
}

static void wait_each(MPI_Request *r, int n, struct origin *o, struct stream *s, int test)
{
    int i, flag, *order = get(sizeof(int) * n);
    MPI_Status status;
    for (i = 0; i < n; i++)
        order[i] = i;
    shuffle(s, order, n);
    for (i = 0; i < n; i++) {
        int at = order[i];
        if (r[at] != MPI_REQUEST_NULL && may(s, STATUS, 20))
            MPI_Request_get_status(r[at], &flag, MPI_STATUS_IGNORE);
        if (test)
            for (MPI_Test(&r[at], &flag, &status); !flag; MPI_Test(&r[at], &flag, &status))
                sched_yield();
        else
            MPI_Wait(&r[at], &status);
        store(o, at, r, &status);
    }
    free(order);
}

static void complete(struct job *jobs, struct stream *s)
{
    int n = 0, i, k, *order;
    struct job *j;
    struct origin *o;
    MPI_Request *r;
    for (j = jobs; j; j = j->next)
        n += j->n;
    o = get(sizeof *o * (n + 1));
    r = get(sizeof *r * (n + 1));
    order = get(sizeof *order * (n + 1));
    for (i = 0; i < n; i++)
        order[i] = i;
    shuffle(s, order, n);
    for (i = 0, j = jobs; j; j = j->next)
        for (k = 0; k < j->n; k++, i++) {
            o[order[i]] = (struct origin){j, k};
            r[order[i]] = j->requests[k];
        }
    switch (below(s, 5)) {
    case 0: wait_all(r, n, o, chance(s, 30)); break;
    case 1: wait_any(r, n, o, chance(s, 30)); break;
    case 2: wait_some(r, n, o, chance(s, 30)); break;
    default: wait_each(r, n, o, s, chance(s, 20));
    }
    free(o);
    free(r);
    free(order);
    while (jobs) {
        MPI_Status *statuses = jobs->statuses;
        j = jobs;
        jobs = j->next;
        j->end(j);
        free(statuses);
    }
}

/* Takes some jobs, one of them or all from the list. */
static struct job *take(struct stream *s, int percent, const struct job *only)
{
    struct job **at = &pending, *taken = NULL;
    while (*at) {
        struct job *j = *at;
        if (only ? j == only : chance(s, percent)) {
            *at = j->next;
            j->next = taken;
            taken = j;
            count--;
        } else {
            at = &j->next;
        }
    }
    return taken;
}

void complete_some(int step)
{
    struct stream s = local(step, 90);
    struct job *taken = take(&s, 40, NULL);
    if (taken)
        complete(taken, &s);
}

void complete_all(int step)
{
    struct stream s = local(step, 91);
    struct job *taken = take(&s, 100, NULL);
    if (taken)
        complete(taken, &s);
}

void complete_one(struct job *job, int step)
{
    struct stream s = local(step, 92);
    complete(take(&s, 0, job), &s);
}

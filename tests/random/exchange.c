/* Exchanges by permutation: send-receive, partitioned messages; receives that are cancelled; barriers. */
#include "random.h"

/* Where each rank sends: to[i], and from whom it gets: from[i]. */
static void permute(struct stream *s, int n, int *to, int *from)
{
    int i, turn = (int)below(s, n), rotate = chance(s, 50);
    for (i = 0; i < n; i++)
        to[i] = i;
    if (rotate)
        for (i = 0; i < n; i++)
            to[i] = (i + turn) % n;
    else
        shuffle(s, to, n);
    for (i = 0; i < n; i++)
        from[to[i]] = i;
}

struct shifted {
    struct job job;
    MPI_Request request[1];
    struct area send, recv;
    int source, tag;
};

static void shifted_end(struct job *job)
{
    struct shifted *x = (struct shifted *)job;
#ifdef MPICH /* 5.0.2: the status is that of the send */
    x->source = MPI_PROC_NULL;
#endif
    if (job->n && x->source != MPI_PROC_NULL && job->statuses[0].MPI_TAG != MPI_ANY_TAG &&
        (job->statuses[0].MPI_SOURCE != x->source || job->statuses[0].MPI_TAG != x->tag))
        wrong(job->step, "send-receive: source %d, tag %d, not %d, %d", job->statuses[0].MPI_SOURCE, job->statuses[0].MPI_TAG,
              x->source, x->tag);
    check_area(&x->recv, bytes_of, NULL, job->step, "send-receive");
    free_area(&x->send);
    free_area(&x->recv);
    free(x);
}

static void lay(struct area *area, struct stream *s, const struct atom *atom, long atoms)
{
    struct layout *l = own_layout(area, divide_layout(s, atom, atoms, 1));
    add_block(area, l, 0, l->atoms ? atoms / l->atoms : 1, (size_t)atoms * atom->size);
    place_area(area, s);
}

void shift(int step)
{
    struct stream s = common(step, 1), mine = local(step, 1);
    struct family *f = choose_family(&s, 1u << INTRA | 1u << CART | 1u << GRAPH);
    int to[MAX_RANKS], from[MAX_RANKS], n, me, replace = chance(&s, 40), later = chance(&s, 40), mute, dest, source;
    const struct atom *atom;
    uint64_t muted, sizes;
    long atoms, incoming;
    struct shifted *x;
    MPI_Status status;
    if (f == NULL || !f->member)
        return;
    settle_family(f, step);
    n = f->size[0];
    me = f->rank;
    permute(&s, n, to, from);
    atom = any_atom(&s);
    atoms = any_size(&s, atom, 1);
    muted = draw(&s);
    sizes = draw(&s);
    mute = chance(&s, 30);
    dest = mute && mix(muted + me) % 4 == 0 ? MPI_PROC_NULL : to[me];
    source = mute && mix(muted + from[me]) % 4 == 0 ? MPI_PROC_NULL : from[me];
    x = get(sizeof *x);
    x->job = (struct job){.step = step, .what = "shift", .requests = x->request, .end = shifted_end};
    x->source = source;
    x->tag = source == MPI_PROC_NULL ? MPI_ANY_TAG : source % 7;
    incoming = replace || atoms == 0 ? atoms : 1 + (long)(mix(sizes + from[me]) % atoms);
    lay(&x->recv, &mine, atom, incoming);
    if (source != MPI_PROC_NULL) {
        x->recv.block[0].has_after = 1;
        x->recv.block[0].after = hash(step, from[me], 4, 4);
    }
    if (replace) {
        x->recv.block[0].has_before = 1;
        x->recv.block[0].before = hash(step, me, 4, 4);
    } else {
        lay(&x->send, &mine, atom, atoms == 0 ? 0 : 1 + (long)(mix(sizes + me) % atoms));
        x->send.block[0].has_before = 1;
        x->send.block[0].before = hash(step, me, 4, 4);
        fill_area(&x->send, bytes_of, NULL);
    }
    fill_area(&x->recv, bytes_of, NULL);
    {
        struct block *r = &x->recv.block[0], *o = replace ? r : &x->send.block[0];
        int tag = chance(&mine, 30) ? MPI_ANY_TAG : source == MPI_PROC_NULL ? 1 : source % 7;
        if (replace && later)
            MPI_Isendrecv_replace(x->recv.base, (int)r->count, r->layout->type, dest, me % 7, source, tag, f->comm, x->request);
        else if (later)
            MPI_Isendrecv(x->send.base, (int)o->count, o->layout->type, dest, me % 7, x->recv.base, (int)r->count,
                          r->layout->type, source, tag, f->comm, x->request);
        else if (replace)
            MPI_Sendrecv_replace(x->recv.base, (int)r->count, r->layout->type, dest, me % 7, source, tag, f->comm, &status);
        else
            MPI_Sendrecv(x->send.base, (int)o->count, o->layout->type, dest, me % 7, x->recv.base, (int)r->count,
                         r->layout->type, source, tag, f->comm, &status);
    }
    x->job.n = later;
    if (!later && source != MPI_PROC_NULL && (status.MPI_SOURCE != source || status.MPI_TAG != source % 7))
        wrong(step, "send-receive: source %d, tag %d, not %d, %d", status.MPI_SOURCE, status.MPI_TAG, source, source % 7);
    post(&x->job, !later || !may(&mine, DEFER, 60));
}

void partitioned(int step)
{
    struct stream s = common(step, 1), mine = local(step, 1);
    struct family *f = choose_family(&s, 1u << INTRA | 1u << CART | 1u << GRAPH);
    int to[MAX_RANKS], from[MAX_RANKS], cuts[2], i, round, rounds = 1 + (int)below(&s, 3), order[64], flag;
    const struct atom *atom;
    long atoms, unit;
    struct area send = {0}, recv = {0};
    struct layout *l[2];
    MPI_Request r[2];
    if (f == NULL || !f->member)
        return;
    settle_family(f, step);
    permute(&s, f->size[0], to, from);
    atom = any_atom(&s);
    unit = any_size(&s, atom, 60);
    cuts[0] = 1 + (int)below(&s, 8);
    cuts[1] = 1 + (int)below(&s, 8);
    atoms = unit * cuts[0] * cuts[1];
    for (i = 0; i < 2; i++) {
        struct area *area = i ? &recv : &send;
        int n = unit ? divisor(&mine, unit * cuts[!i], 500) : 1;
        l[i] = own_layout(area, make_layout(&mine, atom, n, atoms / n));
        add_block(area, l[i], 0, atoms / n, (size_t)atoms * atom->size);
        place_area(area, &mine);
    }
    MPI_Psend_init(send.base, cuts[0], unit * cuts[1] / l[0]->atoms, l[0]->type, to[f->rank], 3, f->comm, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(recv.base, cuts[1], unit * cuts[0] / l[1]->atoms, l[1]->type, from[f->rank], 3, f->comm, MPI_INFO_NULL, &r[1]);
    for (round = 0; round < rounds; round++) {
        send.block[0].has_before = recv.block[0].has_after = 1;
        send.block[0].before = hash(step, f->rank, round, 5);
        recv.block[0].after = hash(step, from[f->rank], round, 5);
        fill_area(&send, bytes_of, NULL);
        fill_area(&recv, bytes_of, NULL);
        MPI_Startall(2, r);
        for (i = 0; i < cuts[0]; i++)
            order[i] = i;
        switch (below(&mine, 3)) {
        case 0: MPI_Pready_range(0, cuts[0] - 1, r[0]); break;
        case 1: shuffle(&mine, order, cuts[0]); MPI_Pready_list(cuts[0], order, r[0]); break;
        default:
            shuffle(&mine, order, cuts[0]);
            for (i = 0; i < cuts[0]; i++)
                MPI_Pready(order[i], r[0]);
        }
        for (i = 0; i < cuts[1]; i++)
            MPI_Parrived(r[1], (int)below(&mine, cuts[1]), &flag);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        check_area(&recv, bytes_of, NULL, step, "partitioned");
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    free_area(&send);
    free_area(&recv);
}

/* Receives that nothing matches, and one that may be matched before it is cancelled. */
void cancel(int step)
{
    struct stream s = common(step, 1), mine = local(step, 1);
    struct family *f = choose_family(&s, 1u << INTRA | 1u << CART | 1u << GRAPH);
    int to[MAX_RANKS], from[MAX_RANKS], flag, race = chance(&s, 60), out, in = -1, never = -1, tag = 31000 + step % 1000;
    MPI_Request r[3];
    MPI_Status status;
    if (f == NULL || !f->member)
        return;
    settle_family(f, step);
    permute(&s, f->size[0], to, from);
    MPI_Irecv(&never, 1, MPI_INT, chance(&mine, 50) ? MPI_ANY_SOURCE : to[f->rank], 30900, f->comm, &r[0]);
    if (race) {
        out = step * 100 + f->rank;
        MPI_Irecv(&in, 1, MPI_INT, chance(&mine, 50) ? MPI_ANY_SOURCE : from[f->rank], tag, f->comm, &r[1]);
        MPI_Isend(&out, 1, MPI_INT, to[f->rank], tag, f->comm, &r[2]);
        if (chance(&mine, 30))
            complete_some(step);
        MPI_Cancel(&r[1]);
        MPI_Wait(&r[1], &status);
        MPI_Test_cancelled(&status, &flag);
        if (flag)
            MPI_Recv(&in, 1, MPI_INT, from[f->rank], tag, f->comm, &status);
        if (in != step * 100 + from[f->rank] || status.MPI_SOURCE != from[f->rank])
            wrong(step, "a receive that was %scancelled: %d from %d", flag ? "" : "not ", in, status.MPI_SOURCE);
        MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    }
    MPI_Cancel(&r[0]);
    if (chance(&mine, 50)) {
        MPI_Wait(&r[0], &status);
    } else {
        for (flag = 0; !flag;)
            MPI_Test(&r[0], &flag, &status);
    }
    MPI_Test_cancelled(&status, &flag);
    if (!flag || never != -1)
        wrong(step, "a receive without sender was not cancelled");
}

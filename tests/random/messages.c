/* A batch of point-to-point messages: receives in advance, sends of all modes, late receives and probes; wildcards
 * where the result is determined. By the end of the step all is started; what is left may complete later.
 *
 * No rank waits for what another rank does after it: blocking sends meet receives in advance or a receive at the same
 * place of the common order; late receives come after all sends. */
#include "random.h"
#include <sched.h>

enum { MOST = 96, ATTACHED = 4 << 20, PAIRED_TAGS = 4, WILD_TAG = 100 };

enum style { EXACT, ANY_SOURCE, ANY_TAG, ANY_BOTH };
enum receive { EARLY, PAIRED, LATE };
enum send { STANDARD, SYNC, BUFFER, READY_SEND, SENDS_KINDS };

struct message {
    int side, from, to, tag;
    const struct atom *atom;
    long atoms;
    enum style style;
    enum receive receive;
    enum send send;
    int immediate, persistent;
    uint64_t id;
};

struct end {
    struct area area;
    struct layout *layout;
    long count;
    const struct message *message; /* of a receive that can only get this one */
    int request, exact;            /* index into the job, or -1 where `status` is known */
    MPI_Status status;
    int sent;
};

struct batch {
    struct job job;
    struct message message[MOST];
    int messages, taken[MOST];
    struct end end[2 * MOST];
    int ends;
    MPI_Request request[2 * MOST];
    int persistent[2 * MOST];
    int side, rank;
};

static size_t buffered;

void attach(void)
{
    MPI_Buffer_attach(get(ATTACHED), ATTACHED);
}

void detach(void)
{
    void *memory;
    int size;
    MPI_Buffer_detach(&memory, &size);
    free(memory);
}

/* Whether it still fits into the attached buffer; else the buffer is emptied first. */
static void make_room(size_t bytes)
{
    if (buffered + bytes > ATTACHED) {
        detach();
        attach();
        buffered = 0;
    }
    buffered += bytes;
}

static size_t bytes(const struct message *m)
{
    return (size_t)m->atoms * m->atom->size;
}

static void draw_messages(struct batch *b, const struct family *f, struct stream *s, int step, int ready, int both)
{
    const struct atom *atom_to[2][MAX_RANKS];
    enum style style_to[2][MAX_RANKS];
    int inter = f->shape == INTERCOMM, flood = chance(s, 12), pairs = 2 * f->size[0] * (inter ? f->size[1] : 1), side, i;
    uint64_t classes = draw(s);
    size_t total = 0;
    for (side = 0; side < 2; side++)
        for (i = 0; i < f->size[side]; i++) {
            int wild = may(s, WILD, 40), which = (int)below(s, 2);
            style_to[side][i] = !wild ? EXACT : both ? ANY_BOTH : which ? ANY_SOURCE : ANY_TAG;
            atom_to[side][i] = any_atom(s);
        }
    b->messages = 1 + (int)below(s, flood ? MOST : pairs > 16 ? 16 : pairs);
    for (i = 0; i < b->messages; i++) {
        struct message *m = &b->message[i];
        int blocking = may(s, BLOCKING, 35), synchronous = may(s, SYNCHRONOUS, 100), buffer = may(s, BUFFERED, 100);
        int persistent = may(s, PERSISTENT, 20), other;
        uint64_t class;
        m->side = inter ? (int)below(s, 2) : 0;
        other = inter ? !m->side : 0;
        m->from = (int)below(s, f->size[m->side]);
        m->to = flood && i ? b->message[0].to % f->size[other] : (int)below(s, f->size[other]);
        m->style = style_to[other][m->to];
        m->atom = m->style == EXACT ? any_atom(s) : atom_to[other][m->to];
        m->atoms = any_size(s, m->atom, 1);
        total += bytes(m);
        if (total > 3 * options.largest || (flood && bytes(m) > 40000))
            m->atoms = m->atoms > 20 ? 20 : m->atoms;
        m->tag = m->style == ANY_SOURCE ? WILD_TAG + step % 30000 : (int)below(s, PAIRED_TAGS);
        class = m->style == EXACT ? 1 + m->from * PAIRED_TAGS + m->tag : m->style == ANY_TAG ? 1000 + m->from : 0;
        m->receive = (enum receive)(mix(classes + 10000 * (m->to + 100 * other) + class) % 3);
        if (m->receive == PAIRED && (class == 0 || (!inter && m->from == m->to)))
            m->receive = EARLY;
        m->send = (enum send)below(s, SENDS_KINDS);
        m->immediate = !blocking;
        if ((m->send == READY_SEND && !(ready && m->receive == EARLY)) || (m->send == SYNC && !synchronous) ||
            (m->send == BUFFER && (!buffer || bytes(m) > 100000)))
            m->send = STANDARD;
        if (m->receive == LATE && m->send != BUFFER)
            m->immediate = 1;
        m->persistent = m->immediate && persistent;
        m->id = hash(step, i, 3, 3);
    }
}

static struct end *new_end(struct batch *b, int sent)
{
    struct end *e = &b->end[b->ends++];
    e->request = -1;
    e->sent = sent;
    return e;
}

static MPI_Request *new_request(struct batch *b, struct end *e, int persistent)
{
    e->request = b->job.n++;
    b->persistent[e->request] = persistent;
    return &b->request[e->request];
}

static void send_one(struct batch *b, const struct message *m, const struct family *f, struct stream *s)
{
    struct end *e = new_end(b, 1);
    void *base;
    MPI_Datatype type;
    MPI_Request *r;
    int n;
    e->layout = own_layout(&e->area, divide_layout(s, m->atom, m->atoms, 1));
    e->count = e->layout->atoms ? m->atoms / e->layout->atoms : 3;
    struct block *block = add_block(&e->area, e->layout, 0, e->count, bytes(m));
    block->has_before = 1;
    block->before = m->id;
    place_area(&e->area, s);
    fill_area(&e->area, bytes_of, NULL);
    base = bytes(m) == 0 && chance(s, 50) ? NULL : e->area.base;
    type = e->layout->type;
    n = (int)e->count;
    if (m->send == BUFFER) {
        int size;
        MPI_Pack_size(n, type, f->comm, &size);
        make_room(size + MPI_BSEND_OVERHEAD);
    }
    if (!m->immediate) {
        switch (m->send) {
        case SYNC: MPI_Ssend(base, n, type, m->to, m->tag, f->comm); break;
        case BUFFER: MPI_Bsend(base, n, type, m->to, m->tag, f->comm); break;
        case READY_SEND: MPI_Rsend(base, n, type, m->to, m->tag, f->comm); break;
        default: MPI_Send(base, n, type, m->to, m->tag, f->comm);
        }
        return;
    }
    r = new_request(b, e, m->persistent);
    if (m->persistent) {
        switch (m->send) {
        case SYNC: MPI_Ssend_init(base, n, type, m->to, m->tag, f->comm, r); break;
        case BUFFER: MPI_Bsend_init(base, n, type, m->to, m->tag, f->comm, r); break;
        case READY_SEND: MPI_Rsend_init(base, n, type, m->to, m->tag, f->comm, r); break;
        default: MPI_Send_init(base, n, type, m->to, m->tag, f->comm, r);
        }
        MPI_Start(r);
    } else {
        switch (m->send) {
        case SYNC: MPI_Issend(base, n, type, m->to, m->tag, f->comm, r); break;
        case BUFFER: MPI_Ibsend(base, n, type, m->to, m->tag, f->comm, r); break;
        case READY_SEND: MPI_Irsend(base, n, type, m->to, m->tag, f->comm, r); break;
        default: MPI_Isend(base, n, type, m->to, m->tag, f->comm, r);
        }
    }
    if (chance(s, 50))
        forget_types(&e->area);
}

/* A buffer that holds `atoms` atoms, at least what comes. */
static void make_buffer(struct end *e, const struct atom *atom, long atoms, struct stream *s)
{
    e->layout = own_layout(&e->area, divide_layout(s, atom, atoms, 1));
    e->count = e->layout->atoms ? atoms / e->layout->atoms : 2;
    add_block(&e->area, e->layout, 0, e->count, (size_t)atoms * atom->size);
    place_area(&e->area, s);
    fill_area(&e->area, bytes_of, NULL);
}

static void probe(const struct family *f, int source, int tag, int poll, MPI_Status *status)
{
    int flag = 0;
    if (!poll)
        MPI_Probe(source, tag, f->comm, status);
    else
        for (MPI_Iprobe(source, tag, f->comm, &flag, status); !flag; MPI_Iprobe(source, tag, f->comm, &flag, status))
            sched_yield();
}

static void match(const struct family *f, int source, int tag, int poll, MPI_Message *message, MPI_Status *status)
{
    int flag = 0;
    if (!poll)
        MPI_Mprobe(source, tag, f->comm, message, status);
    else
        for (MPI_Improbe(source, tag, f->comm, &flag, message, status); !flag;
             MPI_Improbe(source, tag, f->comm, &flag, message, status))
            sched_yield();
}

static void receive_one(struct batch *b, const struct message *m, const struct family *f, struct stream *s, int step)
{
    struct end *e = new_end(b, 0);
    int source = m->style == EXACT || m->style == ANY_TAG ? m->from : MPI_ANY_SOURCE;
    int tag = m->style == EXACT || m->style == ANY_SOURCE ? m->tag : MPI_ANY_TAG;
    int probed = may(s, PROBE, 40) && m->receive != EARLY, matched = chance(s, 50), poll = chance(s, 40);
    int immediate = m->receive == EARLY || (m->receive == LATE && chance(s, 50));
    int persistent = may(s, PERSISTENT, 20), size, i;
    long atoms = m->atoms;
    MPI_Message message = MPI_MESSAGE_NULL;
    if (m->style == EXACT || m->style == ANY_TAG)
        e->message = m;
    if (m->style == ANY_SOURCE || m->style == ANY_BOTH)
        for (i = 0; i < b->messages; i++)
            if (b->message[i].to == m->to && b->message[i].side == m->side && b->message[i].atoms > atoms)
                atoms = b->message[i].atoms;
    if (chance(s, 20) && atoms < 1000)
        atoms += below(s, 10);
    if (probed) {
        if (matched)
            match(f, source, tag, poll, &message, &e->status);
        else
            probe(f, source, tag, poll, &e->status);
        MPI_Get_count(&e->status, MPI_BYTE, &size);
        if (size == MPI_UNDEFINED || size % m->atom->size)
            wrong(step, "probe: %d bytes, of elements of %d", size, m->atom->size);
        atoms = size / m->atom->size;
        source = e->status.MPI_SOURCE;
        tag = e->status.MPI_TAG;
        e->exact = 1;
    }
    make_buffer(e, m->atom, atoms, s);
    if (probed && matched && !immediate)
        MPI_Mrecv(e->area.base, (int)e->count, e->layout->type, &message, &e->status);
    else if (probed && matched)
        MPI_Imrecv(e->area.base, (int)e->count, e->layout->type, &message, new_request(b, e, 0));
    else if (!immediate)
        MPI_Recv(e->area.base, (int)e->count, e->layout->type, source, tag, f->comm, &e->status);
    else if (persistent) {
        MPI_Request *r = new_request(b, e, 1);
        MPI_Recv_init(e->area.base, (int)e->count, e->layout->type, source, tag, f->comm, r);
        MPI_Start(r);
    } else
        MPI_Irecv(e->area.base, (int)e->count, e->layout->type, source, tag, f->comm, new_request(b, e, 0));
}

/* The message that a receive has got: the first from its source that none before it in order has got. */
static const struct message *find(struct batch *b, const struct end *e)
{
    int i;
    for (i = 0; i < b->messages; i++) {
        const struct message *m = &b->message[i];
        if (b->taken[i] || m->from != e->status.MPI_SOURCE || m->to != b->rank || m->side != b->side)
            continue;
        if ((e->message && e->message != m) || (!e->message && m->style != ANY_SOURCE && m->style != ANY_BOTH))
            continue;
        b->taken[i] = 1;
        return m;
    }
    return NULL;
}

static void check_receive(struct batch *b, struct end *e, int step)
{
    const struct message *m = find(b, e);
    int count, elements;
    struct block *block = &e->area.block[0];
    if (m == NULL)
        wrong(step, "a receive got source %d, tag %d", e->status.MPI_SOURCE, e->status.MPI_TAG);
    if (e->status.MPI_TAG != m->tag)
        wrong(step, "a receive from %d got tag %d, not %d", m->from, e->status.MPI_TAG, m->tag);
    MPI_Get_elements(&e->status, e->layout->type, &elements);
    MPI_Get_count(&e->status, e->layout->type, &count);
    /* Whether the predefined pairs are one element or two is read in both ways. */
    if (e->layout->size && ((m->atom->pair == MPI_DATATYPE_NULL && elements != m->atoms * m->atom->pieces) ||
                            count != (m->atoms % e->layout->atoms ? MPI_UNDEFINED : m->atoms / e->layout->atoms)))
        wrong(step, "a receive from %d, tag %d: %d elements, count %d of %ld atoms of %d", m->from, m->tag, elements, count,
              m->atoms, m->atom->pieces);
    if (e->exact && block->bytes != bytes(m))
        wrong(step, "a probe from %d, tag %d: %zu bytes, not %zu", m->from, m->tag, block->bytes, bytes(m));
    block->bytes = bytes(m);
    block->has_after = 1;
    block->after = m->id;
    check_area(&e->area, bytes_of, NULL, step, "receive");
}

static void end(struct job *job)
{
    struct batch *b = (struct batch *)job;
    struct stream s = local(job->step, 5);
    int i;
    for (i = 0; i < job->n; i++)
        if (b->persistent[i])
            MPI_Request_free(&job->requests[i]);
    for (i = 0; i < b->ends; i++) {
        struct end *e = &b->end[i];
        if (e->sent && may(&s, SENDS, 30))
            check_area(&e->area, bytes_of, NULL, job->step, "send buffer");
        if (!e->sent)
            check_receive(b, e, job->step);
        free_area(&e->area);
    }
    free(b);
}

/* Statuses are kept by request until the end; before it they go to the receives. */
static void take_statuses(struct job *job)
{
    struct batch *b = (struct batch *)job;
    int i;
    for (i = 0; i < b->ends; i++)
        if (b->end[i].request >= 0)
            b->end[i].status = job->statuses[b->end[i].request];
    end(job);
}

void messages(int step)
{
    struct stream s = common(step, 1), mine = local(step, 1);
    struct family *f = choose_family(&s, ~0u);
    struct batch *b;
    int ready = may(&s, READY, 25), both = chance(&s, 15), defer = may(&mine, DEFER, 60), i, inter;
    if (f == NULL || !f->member)
        return;
    settle_family(f, step);
    inter = f->shape == INTERCOMM;
    b = get(sizeof *b);
    b->job = (struct job){.step = step, .what = "messages", .requests = b->request, .end = take_statuses};
    draw_messages(b, f, &s, step, ready, both);
    b->side = inter ? !f->side : 0;
    b->rank = f->rank;
    for (i = 0; i < b->messages; i++) {
        const struct message *m = &b->message[i];
        if (m->to == f->rank && m->side == b->side && m->receive == EARLY)
            receive_one(b, m, f, &mine, step);
    }
    if (ready)
        MPI_Barrier(f->comm);
    for (i = 0; i < b->messages; i++) {
        const struct message *m = &b->message[i];
        if (m->from == f->rank && m->side == f->side)
            send_one(b, m, f, &mine);
        if (m->to == f->rank && m->side == b->side && m->receive == PAIRED)
            receive_one(b, m, f, &mine, step);
    }
    for (i = 0; i < b->messages; i++) {
        const struct message *m = &b->message[i];
        if (m->to == f->rank && m->side == b->side && m->receive == LATE)
            receive_one(b, m, f, &mine, step);
    }
    post(&b->job, both || !defer);
    if (both)
        MPI_Barrier(f->comm);
}

// The virtual functions of MPI's classes.
#include "bindings.h"

#define ON_THIS(call) raise(*this, call)

namespace MPI {

// Datatypes.

void Datatype::Commit() { raise(MPI_Type_commit(&handle)); }

void Datatype::Free() { raise(MPI_Type_free(&handle)); }

// A datatype made from this one.
#define MAKE(call) \
    Datatype made; \
    raise(call); \
    return made

Datatype Datatype::Create_contiguous(int count) const { MAKE(MPI_Type_contiguous(count, handle, &made.handle)); }

Datatype Datatype::Create_vector(int count, int length, int stride) const {
    MAKE(MPI_Type_vector(count, length, stride, handle, &made.handle));
}

Datatype Datatype::Create_hvector(int count, int length, Aint stride) const {
    MAKE(MPI_Type_create_hvector(count, length, stride, handle, &made.handle));
}

Datatype Datatype::Create_indexed(int count, const int *lengths, const int *displacements) const {
    MAKE(MPI_Type_indexed(count, lengths, displacements, handle, &made.handle));
}

Datatype Datatype::Create_hindexed(int count, const int *lengths, const Aint *displacements) const {
    MAKE(MPI_Type_create_hindexed(count, lengths, displacements, handle, &made.handle));
}

Datatype Datatype::Create_indexed_block(int count, int length, const int *displacements) const {
    MAKE(MPI_Type_create_indexed_block(count, length, displacements, handle, &made.handle));
}

Datatype Datatype::Create_resized(Aint lower, Aint extent) const {
    MAKE(MPI_Type_create_resized(handle, lower, extent, &made.handle));
}

Datatype Datatype::Create_subarray(int dimensions, const int *sizes, const int *subsizes, const int *starts, int order) const {
    MAKE(MPI_Type_create_subarray(dimensions, sizes, subsizes, starts, order, handle, &made.handle));
}

Datatype Datatype::Create_darray(int size, int rank, int dimensions, const int *sizes, const int *distributions, const int *arguments,
                                 const int *grid, int order) const {
    MAKE(MPI_Type_create_darray(size, rank, dimensions, sizes, distributions, arguments, grid, order, handle, &made.handle));
}

#ifndef DIALECT_MPICH
Datatype Datatype::Dup() const { MAKE(MPI_Type_dup(handle, &made.handle)); }
#endif

int Datatype::Get_size() const {
    int size = 0;
    raise(MPI_Type_size(handle, &size));
    return size;
}

void Datatype::Get_extent(Aint &lower, Aint &extent) const { raise(MPI_Type_get_extent(handle, &lower, &extent)); }

void Datatype::Get_true_extent(Aint &lower, Aint &extent) const { raise(MPI_Type_get_true_extent(handle, &lower, &extent)); }

void Datatype::Get_envelope(int &integers, int &addresses, int &datatypes, int &combiner) const {
    raise(MPI_Type_get_envelope(handle, &integers, &addresses, &datatypes, &combiner));
}

void Datatype::Get_contents(int room, int addresses, int datatypes, int *integers_to, Aint *addresses_to, Datatype *to) const {
    std::vector<MPI_Datatype> made = handles<MPI_Datatype>(to, datatypes);
    raise(MPI_Type_get_contents(handle, room, addresses, datatypes, integers_to, addresses_to, made.data()));
    for (int at = 0; at < datatypes; at++) to[at].handle = made[at];
}

int Datatype::Pack_size(int count, const Comm &comm) const {
    int size = 0;
    raise(comm, MPI_Pack_size(count, handle, comm.handle, &size));
    return size;
}

void Datatype::Pack(const void *from, int count, void *to, int size, int &position, const Comm &comm) const {
    raise(comm, MPI_Pack(from, count, handle, to, size, &position, comm.handle));
}

void Datatype::Unpack(const void *from, int size, void *to, int count, int &position, const Comm &comm) const {
    raise(comm, MPI_Unpack(from, size, &position, to, count, handle, comm.handle));
}

void Datatype::Pack_external(const char *form, const void *from, int count, void *to, Aint size, Aint &position) const {
    raise(MPI_Pack_external(form, from, count, handle, to, size, &position));
}

Aint Datatype::Pack_external_size(const char *form, int count) const {
    Aint size = 0;
    raise(MPI_Pack_external_size(form, count, handle, &size));
    return size;
}

void Datatype::Unpack_external(const char *form, const void *from, Aint size, Aint &position, void *to, int count) const {
    raise(MPI_Unpack_external(form, from, size, &position, to, count, handle));
}

bool Datatype::Get_attr(int key, void *value) const {
    int found = 0;
    raise(MPI_Type_get_attr(handle, key, value, &found));
    return found != 0;
}

void Datatype::Set_attr(int key, const void *value) { raise(MPI_Type_set_attr(handle, key, const_cast<void *>(value))); }

void Datatype::Delete_attr(int key) { raise(MPI_Type_delete_attr(handle, key)); }

void Datatype::Get_name(char *name, int &length) const { raise(MPI_Type_get_name(handle, name, &length)); }

void Datatype::Set_name(const char *name) { raise(MPI_Type_set_name(handle, name)); }

// Information.

void Info::Delete(const char *key) { raise(MPI_Info_delete(handle, key)); }

#ifndef DIALECT_MPICH
Info Info::Dup() const {
    Info copy;
    raise(MPI_Info_dup(handle, &copy.handle));
    return copy;
}
#endif

void Info::Free() { raise(MPI_Info_free(&handle)); }

bool Info::Get(const char *key, int length, char *value) const {
    int found = 0;
    raise(MPI_Info_get(handle, key, length, value, &found));
    return found != 0;
}

bool Info::Get_valuelen(const char *key, int &length) const {
    int found = 0;
    raise(MPI_Info_get_valuelen(handle, key, &length, &found));
    return found != 0;
}

int Info::Get_nkeys() const {
    int count = 0;
    raise(MPI_Info_get_nkeys(handle, &count));
    return count;
}

void Info::Get_nthkey(int at, char *key) const { raise(MPI_Info_get_nthkey(handle, at, key)); }

void Info::Set(const char *key, const char *value) { raise(MPI_Info_set(handle, key, value)); }

// Statuses.

bool Status::Is_cancelled() const {
    int is = 0;
    raise(MPI_Test_cancelled(&handle, &is));
    return is != 0;
}

int Status::Get_count(const Datatype &datatype) const {
    int count = 0;
    raise(MPI_Get_count(&handle, datatype.handle, &count));
    return count;
}

int Status::Get_elements(const Datatype &datatype) const {
    int count = 0;
    raise(MPI_Get_elements(&handle, datatype.handle, &count));
    return count;
}

void Status::Set_cancelled(bool is) { raise(MPI_Status_set_cancelled(&handle, is)); }

void Status::Set_elements(const Datatype &datatype, int count) {
    raise(MPI_Status_set_elements(&handle, datatype.handle, count));
}

#ifndef DIALECT_MPICH
int Status::Get_source() const { return handle.MPI_SOURCE; }
int Status::Get_tag() const { return handle.MPI_TAG; }
int Status::Get_error() const { return handle.MPI_ERROR; }
void Status::Set_source(int source) { handle.MPI_SOURCE = source; }
void Status::Set_tag(int tag) { handle.MPI_TAG = tag; }
void Status::Set_error(int error) { handle.MPI_ERROR = error; }
#endif

// Groups.

int Group::Get_size() const {
    int size = 0;
    raise(MPI_Group_size(handle, &size));
    return size;
}

int Group::Get_rank() const {
    int rank = 0;
    raise(MPI_Group_rank(handle, &rank));
    return rank;
}

#define GROUP(name, call) \
    Group Group::name const { \
        Group made; \
        raise(call); \
        return made; \
    }

GROUP(Incl(int n, const int *ranks), MPI_Group_incl(handle, n, ranks, &made.handle))
GROUP(Excl(int n, const int *ranks), MPI_Group_excl(handle, n, ranks, &made.handle))
GROUP(Range_incl(int n, const int (*ranges)[3]), MPI_Group_range_incl(handle, n, const_cast<int (*)[3]>(ranges), &made.handle))
GROUP(Range_excl(int n, const int (*ranges)[3]), MPI_Group_range_excl(handle, n, const_cast<int (*)[3]>(ranges), &made.handle))

void Group::Free() { raise(MPI_Group_free(&handle)); }

// Operations and error handlers.

void Op::Free() { raise(MPI_Op_free(&handle)); }

bool Op::Is_commutative() const {
    int is = 0;
    raise(MPI_Op_commutative(handle, &is));
    return is != 0;
}

void Op::Reduce_local(const void *from, void *to, int count, const Datatype &datatype) const {
    raise(MPI_Reduce_local(from, to, count, datatype.handle, handle));
}

void Errhandler::Free() { raise(MPI_Errhandler_free(&handle)); }

// Requests.

void Request::Wait() { raise(MPI_Wait(&handle, MPI_STATUS_IGNORE)); }

void Request::Wait(Status &status) { raise(MPI_Wait(&handle, &status.handle)); }

#define ASKED(name, call) \
    bool Request::name { \
        int is = 0; \
        raise(call); \
        return is != 0; \
    }

ASKED(Test(), MPI_Test(&handle, &is, MPI_STATUS_IGNORE))
ASKED(Test(Status &status), MPI_Test(&handle, &is, &status.handle))
ASKED(Get_status() const, MPI_Request_get_status(handle, &is, MPI_STATUS_IGNORE))
ASKED(Get_status(Status &status) const, MPI_Request_get_status(handle, &is, &status.handle))

void Request::Cancel() const {
    MPI_Request request = handle;
    raise(MPI_Cancel(&request));
}

void Request::Free() { raise(MPI_Request_free(&handle)); }

void Prequest::Start() { raise(MPI_Start(&handle)); }

void Grequest::Complete() { raise(MPI_Grequest_complete(handle)); }

// Messages.

#define SENDS(name) \
    void Comm::name(const void *from, int count, const Datatype &datatype, int to, int tag) const { \
        ON_THIS(MPI_##name(from, count, datatype.handle, to, tag, handle)); \
    }
#define BEGINS(kind, name, buffer) \
    kind Comm::name(buffer data, int count, const Datatype &datatype, int peer, int tag) const { \
        kind request; \
        ON_THIS(MPI_##name(data, count, datatype.handle, peer, tag, handle, &request.handle)); \
        return request; \
    }

SENDS(Send)
SENDS(Bsend)
SENDS(Ssend)
SENDS(Rsend)
BEGINS(Request, Isend, const void *)
BEGINS(Request, Ibsend, const void *)
BEGINS(Request, Issend, const void *)
BEGINS(Request, Irsend, const void *)
BEGINS(Request, Irecv, void *)
BEGINS(Prequest, Send_init, const void *)
BEGINS(Prequest, Bsend_init, const void *)
BEGINS(Prequest, Ssend_init, const void *)
BEGINS(Prequest, Rsend_init, const void *)
BEGINS(Prequest, Recv_init, void *)

void Comm::Recv(void *to, int count, const Datatype &datatype, int from, int tag) const {
    ON_THIS(MPI_Recv(to, count, datatype.handle, from, tag, handle, MPI_STATUS_IGNORE));
}

void Comm::Recv(void *to, int count, const Datatype &datatype, int from, int tag, Status &status) const {
    ON_THIS(MPI_Recv(to, count, datatype.handle, from, tag, handle, &status.handle));
}

void Comm::Probe(int from, int tag) const { ON_THIS(MPI_Probe(from, tag, handle, MPI_STATUS_IGNORE)); }

void Comm::Probe(int from, int tag, Status &status) const { ON_THIS(MPI_Probe(from, tag, handle, &status.handle)); }

bool Comm::Iprobe(int from, int tag) const {
    int is = 0;
    ON_THIS(MPI_Iprobe(from, tag, handle, &is, MPI_STATUS_IGNORE));
    return is != 0;
}

bool Comm::Iprobe(int from, int tag, Status &status) const {
    int is = 0;
    ON_THIS(MPI_Iprobe(from, tag, handle, &is, &status.handle));
    return is != 0;
}

void Comm::Sendrecv(const void *out, int sent, const Datatype &sent_type, int to, int sent_tag, void *in, int received,
                    const Datatype &received_type, int from, int received_tag) const {
    ON_THIS(MPI_Sendrecv(out, sent, sent_type.handle, to, sent_tag, in, received, received_type.handle, from, received_tag, handle,
                         MPI_STATUS_IGNORE));
}

void Comm::Sendrecv(const void *out, int sent, const Datatype &sent_type, int to, int sent_tag, void *in, int received,
                    const Datatype &received_type, int from, int received_tag, Status &status) const {
    ON_THIS(MPI_Sendrecv(out, sent, sent_type.handle, to, sent_tag, in, received, received_type.handle, from, received_tag, handle,
                         &status.handle));
}

void Comm::Sendrecv_replace(void *data, int count, const Datatype &datatype, int to, int sent_tag, int from, int tag) const {
    ON_THIS(MPI_Sendrecv_replace(data, count, datatype.handle, to, sent_tag, from, tag, handle, MPI_STATUS_IGNORE));
}

void Comm::Sendrecv_replace(void *data, int count, const Datatype &datatype, int to, int sent_tag, int from, int tag,
                            Status &status) const {
    ON_THIS(MPI_Sendrecv_replace(data, count, datatype.handle, to, sent_tag, from, tag, handle, &status.handle));
}

// Communicators.

Group Comm::Get_group() const {
    Group group;
    ON_THIS(MPI_Comm_group(handle, &group.handle));
    return group;
}

int Comm::Get_size() const {
    int size = 0;
    ON_THIS(MPI_Comm_size(handle, &size));
    return size;
}

int Comm::Get_rank() const {
    int rank = 0;
    ON_THIS(MPI_Comm_rank(handle, &rank));
    return rank;
}

bool Comm::Is_inter() const {
    int is = 0;
    ON_THIS(MPI_Comm_test_inter(handle, &is));
    return is != 0;
}

int Comm::Get_topology() const {
    int topology = 0;
    ON_THIS(MPI_Topo_test(handle, &topology));
    return topology;
}

void Comm::Free() { ON_THIS(MPI_Comm_free(&handle)); }

void Comm::Disconnect() { ON_THIS(MPI_Comm_disconnect(&handle)); }

void Comm::Abort(int code)
#ifdef DIALECT_MPICH
    const
#endif
{
    ON_THIS(MPI_Abort(handle, code));
}

void Comm::Set_errhandler(const Errhandler &to) { ON_THIS(MPI_Comm_set_errhandler(handle, to.handle)); }

Errhandler Comm::Get_errhandler() const {
    Errhandler current;
    ON_THIS(MPI_Comm_get_errhandler(handle, &current.handle));
    return current;
}

bool Comm::Get_attr(int key, void *value) const {
    int found = 0;
    ON_THIS(MPI_Comm_get_attr(handle, key, value, &found));
    return found != 0;
}

void Comm::Set_attr(int key, const void *value)
#ifndef DIALECT_MPICH
    const
#endif
{
    ON_THIS(MPI_Comm_set_attr(handle, key, const_cast<void *>(value)));
}

void Comm::Delete_attr(int key) { ON_THIS(MPI_Comm_delete_attr(handle, key)); }

void Comm::Get_name(char *name, int &length) const { ON_THIS(MPI_Comm_get_name(handle, name, &length)); }

void Comm::Set_name(const char *name) { ON_THIS(MPI_Comm_set_name(handle, name)); }

// Collectives.

void Comm::Barrier() const { ON_THIS(MPI_Barrier(handle)); }

void Comm::Bcast(void *data, int count, const Datatype &datatype, int root) const {
    ON_THIS(MPI_Bcast(data, count, datatype.handle, root, handle));
}

void Comm::Gather(const void *from, int sent, const Datatype &sent_type, void *to, int received, const Datatype &received_type,
                  int root) const {
    ON_THIS(MPI_Gather(from, sent, sent_type.handle, to, received, received_type.handle, root, handle));
}

void Comm::Gatherv(const void *from, int sent, const Datatype &sent_type, void *to, const int *received, const int *displacements,
                   const Datatype &received_type, int root) const {
    ON_THIS(MPI_Gatherv(from, sent, sent_type.handle, to, received, displacements, received_type.handle, root, handle));
}

void Comm::Scatter(const void *from, int sent, const Datatype &sent_type, void *to, int received, const Datatype &received_type,
                   int root) const {
    ON_THIS(MPI_Scatter(from, sent, sent_type.handle, to, received, received_type.handle, root, handle));
}

void Comm::Scatterv(const void *from, const int *sent, const int *displacements, const Datatype &sent_type, void *to, int received,
                    const Datatype &received_type, int root) const {
    ON_THIS(MPI_Scatterv(from, sent, displacements, sent_type.handle, to, received, received_type.handle, root, handle));
}

void Comm::Allgather(const void *from, int sent, const Datatype &sent_type, void *to, int received,
                     const Datatype &received_type) const {
    ON_THIS(MPI_Allgather(from, sent, sent_type.handle, to, received, received_type.handle, handle));
}

void Comm::Allgatherv(const void *from, int sent, const Datatype &sent_type, void *to, const int *received, const int *displacements,
                      const Datatype &received_type) const {
    ON_THIS(MPI_Allgatherv(from, sent, sent_type.handle, to, received, displacements, received_type.handle, handle));
}

void Comm::Alltoall(const void *from, int sent, const Datatype &sent_type, void *to, int received,
                    const Datatype &received_type) const {
    ON_THIS(MPI_Alltoall(from, sent, sent_type.handle, to, received, received_type.handle, handle));
}

void Comm::Alltoallv(const void *from, const int *sent, const int *sent_at, const Datatype &sent_type, void *to, const int *received,
                     const int *received_at, const Datatype &received_type) const {
    ON_THIS(MPI_Alltoallv(from, sent, sent_at, sent_type.handle, to, received, received_at, received_type.handle, handle));
}

void Comm::Alltoallw(const void *from, const int *sent, const int *sent_at, const Datatype *sent_types, void *to, const int *received,
                     const int *received_at, const Datatype *received_types) const {
    int inter = 0, peers = 0;
    ON_THIS(MPI_Comm_test_inter(handle, &inter));
    ON_THIS(inter ? MPI_Comm_remote_size(handle, &peers) : MPI_Comm_size(handle, &peers));
    // Types beside a buffer that is not looked at need not be there.
    std::vector<MPI_Datatype> out = handles<MPI_Datatype>(sent_types, from == MPI_IN_PLACE ? 0 : peers);
    std::vector<MPI_Datatype> in = handles<MPI_Datatype>(received_types, peers);
    ON_THIS(MPI_Alltoallw(from, sent, sent_at, out.data(), to, received, received_at, in.data(), handle));
}

void Comm::Reduce(const void *from, void *to, int count, const Datatype &datatype, const Op &op, int root) const {
    ON_THIS(MPI_Reduce(from, to, count, datatype.handle, op.handle, root, handle));
}

void Comm::Allreduce(const void *from, void *to, int count, const Datatype &datatype, const Op &op) const {
    ON_THIS(MPI_Allreduce(from, to, count, datatype.handle, op.handle, handle));
}

#ifdef DIALECT_MPICH
void Comm::Reduce_scatter_block(const void *from, void *to, int count, const Datatype &datatype, const Op &op) const {
    ON_THIS(MPI_Reduce_scatter_block(from, to, count, datatype.handle, op.handle, handle));
}

void Comm::Reduce_scatter(const void *from, void *to, const int *counts, const Datatype &datatype, const Op &op) const
#else
void Comm::Reduce_scatter(const void *from, void *to, int *counts, const Datatype &datatype, const Op &op) const
#endif
{
    ON_THIS(MPI_Reduce_scatter(from, to, counts, datatype.handle, op.handle, handle));
}

void Intracomm::Scan(const void *from, void *to, int count, const Datatype &datatype, const Op &op) const {
    ON_THIS(MPI_Scan(from, to, count, datatype.handle, op.handle, handle));
}

void Intracomm::Exscan(const void *from, void *to, int count, const Datatype &datatype, const Op &op) const {
    ON_THIS(MPI_Exscan(from, to, count, datatype.handle, op.handle, handle));
}

// Communicators made from others.

#define MADE(kind, name, call) \
    kind name const { \
        kind made; \
        ON_THIS(call); \
        return made; \
    }

MADE(Intracomm, Intracomm::Create(const Group &group), MPI_Comm_create(handle, group.handle, &made.handle))
MADE(Intracomm, Intracomm::Split(int color, int key), MPI_Comm_split(handle, color, key, &made.handle))
MADE(Intercomm, Intracomm::Create_intercomm(int leader, const Comm &peers, int remote, int tag),
     MPI_Intercomm_create(handle, leader, peers.handle, remote, tag, &made.handle))
MADE(Cartcomm, Intracomm::Create_cart(int dimensions, const int *sizes, const bool *periods, bool reorder),
     MPI_Cart_create(handle, dimensions, sizes, integers(periods, dimensions).data(), reorder, &made.handle))
MADE(Graphcomm, Intracomm::Create_graph(int nodes, const int *index, const int *edges, bool reorder),
     MPI_Graph_create(handle, nodes, index, edges, reorder, &made.handle))
MADE(Intercomm, Intracomm::Accept(const char *port, const Info &info, int root),
     MPI_Comm_accept(port, info.handle, root, handle, &made.handle))
MADE(Intercomm, Intracomm::Connect(const char *port, const Info &info, int root),
     MPI_Comm_connect(port, info.handle, root, handle, &made.handle))
MADE(Intercomm, Intercomm::Split(int color, int key), MPI_Comm_split(handle, color, key, &made.handle))
MADE(Intracomm, Intercomm::Merge(bool high), MPI_Intercomm_merge(handle, high, &made.handle))
MADE(Group, Intercomm::Get_remote_group(), MPI_Comm_remote_group(handle, &made.handle))
#ifndef DIALECT_MPICH
MADE(Intercomm, Intercomm::Create(const Group &group), MPI_Comm_create(handle, group.handle, &made.handle))

Intercomm Intracomm::Spawn(const char *command, const char **arguments, int processes, const Info &info, int root) const {
    return Spawn(command, arguments, processes, info, root, MPI_ERRCODES_IGNORE);
}

MADE(Intercomm, Intracomm::Spawn(const char *command, const char **arguments, int processes, const Info &info, int root, int *codes),
     MPI_Comm_spawn(command, const_cast<char **>(arguments), processes, info.handle, root, handle, &made.handle, codes))

Intercomm Intracomm::Spawn_multiple(int count, const char **commands, const char ***arguments, const int *processes, const Info *infos,
                                    int root) {
    return Spawn_multiple(count, commands, arguments, processes, infos, root, MPI_ERRCODES_IGNORE);
}

Intercomm Intracomm::Spawn_multiple(int count, const char **commands, const char ***arguments, const int *processes, const Info *infos,
                                    int root, int *codes) {
    Intercomm made;
    int rank = 0;
    ON_THIS(MPI_Comm_rank(handle, &rank));
    // The root alone has the commands.
    std::vector<MPI_Info> all = handles<MPI_Info>(infos, rank == root ? count : 0);
    ON_THIS(MPI_Comm_spawn_multiple(count, const_cast<char **>(commands), const_cast<char ***>(arguments), processes, all.data(), root,
                                    handle, &made.handle, codes));
    return made;
}
#endif

int Intercomm::Get_remote_size() const {
    int size = 0;
    ON_THIS(MPI_Comm_remote_size(handle, &size));
    return size;
}

// A copy that the program owns, with its class.
#define CLONE(kind) \
    kind &kind::Clone() const { \
        MPI_Comm copy = MPI_COMM_NULL; \
        ON_THIS(MPI_Comm_dup(handle, &copy)); \
        return *new kind(copy); \
    }

CLONE(Intracomm)
CLONE(Intercomm)
CLONE(Cartcomm)
CLONE(Graphcomm)
#ifdef DIALECT_MPICH
Nullcomm &Nullcomm::Clone() const { return *new Nullcomm; }
#endif

// Topologies.

int Cartcomm::Get_dim() const {
    int dimensions = 0;
    ON_THIS(MPI_Cartdim_get(handle, &dimensions));
    return dimensions;
}

void Cartcomm::Get_topo(int room, int *sizes, bool *periods, int *coordinates) const {
    std::vector<int> found(room > 0 ? room : 0);
    ON_THIS(MPI_Cart_get(handle, room, sizes, found.data(), coordinates));
    for (int at = 0; at < room; at++) periods[at] = found[at] != 0;
}

int Cartcomm::Get_cart_rank(const int *coordinates) const {
    int rank = 0;
    ON_THIS(MPI_Cart_rank(handle, coordinates, &rank));
    return rank;
}

void Cartcomm::Get_coords(int rank, int room, int *coordinates) const { ON_THIS(MPI_Cart_coords(handle, rank, room, coordinates)); }

void Cartcomm::Shift(int direction, int by, int &from, int &to) const { ON_THIS(MPI_Cart_shift(handle, direction, by, &from, &to)); }

MADE(Cartcomm, Cartcomm::Sub(const bool *kept), MPI_Cart_sub(handle, integers(kept, Get_dim()).data(), &made.handle))

int Cartcomm::Map(int dimensions, const int *sizes, const bool *periods) const {
    int rank = 0;
    ON_THIS(MPI_Cart_map(handle, dimensions, sizes, integers(periods, dimensions).data(), &rank));
    return rank;
}

void Graphcomm::Get_dims(int *nodes, int *edges) const { ON_THIS(MPI_Graphdims_get(handle, nodes, edges)); }

void Graphcomm::Get_topo(int indices, int edges, int *index_to, int *edges_to) const {
    ON_THIS(MPI_Graph_get(handle, indices, edges, index_to, edges_to));
}

int Graphcomm::Get_neighbors_count(int rank) const {
    int count = 0;
    ON_THIS(MPI_Graph_neighbors_count(handle, rank, &count));
    return count;
}

void Graphcomm::Get_neighbors(int rank, int room, int *to) const { ON_THIS(MPI_Graph_neighbors(handle, rank, room, to)); }

int Graphcomm::Map(int nodes, const int *index, const int *edges) const {
    int rank = 0;
    ON_THIS(MPI_Graph_map(handle, nodes, index, edges, &rank));
    return rank;
}

// Windows.

void Win::Free() { ON_THIS(MPI_Win_free(&handle)); }

void Win::Put(const void *from, int count, const Datatype &datatype, int target, Aint at, int there, const Datatype &type_there) const {
    ON_THIS(MPI_Put(from, count, datatype.handle, target, at, there, type_there.handle, handle));
}

#ifdef DIALECT_MPICH
void Win::Get(void *to, int count, const Datatype &datatype, int target, Aint at, int there, const Datatype &type_there) const {
#else
void Win::Get(const void *place, int count, const Datatype &datatype, int target, Aint at, int there, const Datatype &type_there) const {
    void *to = const_cast<void *>(place);
#endif
    ON_THIS(MPI_Get(to, count, datatype.handle, target, at, there, type_there.handle, handle));
}

void Win::Accumulate(const void *from, int count, const Datatype &datatype, int target, Aint at, int there, const Datatype &type_there,
                     const Op &op) const {
    ON_THIS(MPI_Accumulate(from, count, datatype.handle, target, at, there, type_there.handle, op.handle, handle));
}

Group Win::Get_group() const {
    Group group;
    ON_THIS(MPI_Win_get_group(handle, &group.handle));
    return group;
}

void Win::Fence(int assertion) const { ON_THIS(MPI_Win_fence(assertion, handle)); }
void Win::Start(const Group &group, int assertion) const { ON_THIS(MPI_Win_start(group.handle, assertion, handle)); }
void Win::Complete() const { ON_THIS(MPI_Win_complete(handle)); }
void Win::Post(const Group &group, int assertion) const { ON_THIS(MPI_Win_post(group.handle, assertion, handle)); }
void Win::Wait() const { ON_THIS(MPI_Win_wait(handle)); }

bool Win::Test() const {
    int is = 0;
    ON_THIS(MPI_Win_test(handle, &is));
    return is != 0;
}

void Win::Lock(int kind, int rank, int assertion) const { ON_THIS(MPI_Win_lock(kind, rank, assertion, handle)); }
void Win::Unlock(int rank) const { ON_THIS(MPI_Win_unlock(rank, handle)); }

#ifdef DIALECT_MPICH
void Win::Set_errhandler(const Errhandler &to)
#else
void Win::Set_errhandler(const Errhandler &to) const
#endif
{
    ON_THIS(MPI_Win_set_errhandler(handle, to.handle));
}

Errhandler Win::Get_errhandler() const {
    Errhandler current;
    ON_THIS(MPI_Win_get_errhandler(handle, &current.handle));
    return current;
}

#ifndef DIALECT_MPICH
void Win::Call_errhandler(int code) const { MPI_Win_call_errhandler(handle, code); }

void File::Close() { MPI_File_close(&handle); }
#endif

#ifdef DIALECT_MPICH
bool Win::Get_attr(int key, void *value) const {
    int found = 0;
    ON_THIS(MPI_Win_get_attr(handle, key, value, &found));
    return found != 0;
}
#endif

void Win::Set_attr(int key, const void *value) { ON_THIS(MPI_Win_set_attr(handle, key, const_cast<void *>(value))); }
void Win::Delete_attr(int key) { ON_THIS(MPI_Win_delete_attr(handle, key)); }
void Win::Get_name(char *name, int &length) const { ON_THIS(MPI_Win_get_name(handle, name, &length)); }
void Win::Set_name(const char *name) { ON_THIS(MPI_Win_set_name(handle, name)); }

} // namespace MPI

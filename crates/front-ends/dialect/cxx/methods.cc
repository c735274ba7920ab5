// The virtual functions of MPI's classes.
#include "bindings.h"

namespace MPI {

// Datatypes.

void Datatype::Commit() { raise(MPI_Type_commit(&handle)); }

void Datatype::Free() { raise(MPI_Type_free(&handle)); }

ANSWERS(Datatype, Datatype::Create_contiguous(int count) const, MPI_Type_contiguous(count, handle, &answer.handle))
ANSWERS(Datatype, Datatype::Create_vector(int count, int length, int stride) const,
        MPI_Type_vector(count, length, stride, handle, &answer.handle))
ANSWERS(Datatype, Datatype::Create_hvector(int count, int length, Aint stride) const,
        MPI_Type_create_hvector(count, length, stride, handle, &answer.handle))
ANSWERS(Datatype, Datatype::Create_indexed(int count, const int *lengths, const int *displacements) const,
        MPI_Type_indexed(count, lengths, displacements, handle, &answer.handle))
ANSWERS(Datatype, Datatype::Create_hindexed(int count, const int *lengths, const Aint *displacements) const,
        MPI_Type_create_hindexed(count, lengths, displacements, handle, &answer.handle))
ANSWERS(Datatype, Datatype::Create_indexed_block(int count, int length, const int *displacements) const,
        MPI_Type_create_indexed_block(count, length, displacements, handle, &answer.handle))
ANSWERS(Datatype, Datatype::Create_resized(Aint lower, Aint extent) const,
        MPI_Type_create_resized(handle, lower, extent, &answer.handle))
ANSWERS(Datatype, Datatype::Create_subarray(int dimensions, const int *sizes, const int *subsizes, const int *starts, int order) const,
        MPI_Type_create_subarray(dimensions, sizes, subsizes, starts, order, handle, &answer.handle))
ANSWERS(Datatype, Datatype::Create_darray(int size, int rank, int dimensions, const int *sizes, const int *distributions,
                                          const int *arguments, const int *grid, int order) const,
        MPI_Type_create_darray(size, rank, dimensions, sizes, distributions, arguments, grid, order, handle, &answer.handle))

#ifndef DIALECT_MPICH
ANSWERS(Datatype, Datatype::Dup() const, MPI_Type_dup(handle, &answer.handle))
#endif

ANSWERS(int, Datatype::Get_size() const, MPI_Type_size(handle, &answer))

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

ANSWERS(int, Datatype::Pack_size(int count, const Comm &comm) const, comm, MPI_Pack_size(count, handle, comm.handle, &answer))

void Datatype::Pack(const void *from, int count, void *to, int size, int &position, const Comm &comm) const {
    raise(comm, MPI_Pack(from, count, handle, to, size, &position, comm.handle));
}

void Datatype::Unpack(const void *from, int size, void *to, int count, int &position, const Comm &comm) const {
    raise(comm, MPI_Unpack(from, size, &position, to, count, handle, comm.handle));
}

void Datatype::Pack_external(const char *form, const void *from, int count, void *to, Aint size, Aint &position) const {
    raise(MPI_Pack_external(form, from, count, handle, to, size, &position));
}

ANSWERS(Aint, Datatype::Pack_external_size(const char *form, int count) const, MPI_Pack_external_size(form, count, handle, &answer))

void Datatype::Unpack_external(const char *form, const void *from, Aint size, Aint &position, void *to, int count) const {
    raise(MPI_Unpack_external(form, from, size, &position, to, count, handle));
}

ANSWERS_WHETHER(Datatype::Get_attr(int key, void *value) const, MPI_Type_get_attr(handle, key, value, &answer))

void Datatype::Set_attr(int key, const void *value) { raise(MPI_Type_set_attr(handle, key, const_cast<void *>(value))); }

void Datatype::Delete_attr(int key) { raise(MPI_Type_delete_attr(handle, key)); }

void Datatype::Get_name(char *name, int &length) const { raise(MPI_Type_get_name(handle, name, &length)); }

void Datatype::Set_name(const char *name) { raise(MPI_Type_set_name(handle, name)); }

// Information.

void Info::Delete(const char *key) { raise(MPI_Info_delete(handle, key)); }

#ifndef DIALECT_MPICH
ANSWERS(Info, Info::Dup() const, MPI_Info_dup(handle, &answer.handle))
#endif

void Info::Free() { raise(MPI_Info_free(&handle)); }

ANSWERS_WHETHER(Info::Get(const char *key, int length, char *value) const, MPI_Info_get(handle, key, length, value, &answer))
ANSWERS_WHETHER(Info::Get_valuelen(const char *key, int &length) const, MPI_Info_get_valuelen(handle, key, &length, &answer))
ANSWERS(int, Info::Get_nkeys() const, MPI_Info_get_nkeys(handle, &answer))

void Info::Get_nthkey(int at, char *key) const { raise(MPI_Info_get_nthkey(handle, at, key)); }

void Info::Set(const char *key, const char *value) { raise(MPI_Info_set(handle, key, value)); }

// Statuses.

ANSWERS_WHETHER(Status::Is_cancelled() const, MPI_Test_cancelled(&handle, &answer))
ANSWERS(int, Status::Get_count(const Datatype &datatype) const, MPI_Get_count(&handle, datatype.handle, &answer))
ANSWERS(int, Status::Get_elements(const Datatype &datatype) const, MPI_Get_elements(&handle, datatype.handle, &answer))

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

ANSWERS(int, Group::Get_size() const, MPI_Group_size(handle, &answer))
ANSWERS(int, Group::Get_rank() const, MPI_Group_rank(handle, &answer))
ANSWERS(Group, Group::Incl(int n, const int *ranks) const, MPI_Group_incl(handle, n, ranks, &answer.handle))
ANSWERS(Group, Group::Excl(int n, const int *ranks) const, MPI_Group_excl(handle, n, ranks, &answer.handle))
ANSWERS(Group, Group::Range_incl(int n, const int (*ranges)[3]) const,
        MPI_Group_range_incl(handle, n, const_cast<int (*)[3]>(ranges), &answer.handle))
ANSWERS(Group, Group::Range_excl(int n, const int (*ranges)[3]) const,
        MPI_Group_range_excl(handle, n, const_cast<int (*)[3]>(ranges), &answer.handle))

void Group::Free() { raise(MPI_Group_free(&handle)); }

// Operations and error handlers.

void Op::Free() { raise(MPI_Op_free(&handle)); }

ANSWERS_WHETHER(Op::Is_commutative() const, MPI_Op_commutative(handle, &answer))

void Op::Reduce_local(const void *from, void *to, int count, const Datatype &datatype) const {
    raise(MPI_Reduce_local(from, to, count, datatype.handle, handle));
}

void Errhandler::Free() { raise(MPI_Errhandler_free(&handle)); }

// Requests.

void Request::Wait() { raise(MPI_Wait(&handle, MPI_STATUS_IGNORE)); }

void Request::Wait(Status &status) { raise(MPI_Wait(&handle, &status.handle)); }

ANSWERS_WHETHER(Request::Test(), MPI_Test(&handle, &answer, MPI_STATUS_IGNORE))
ANSWERS_WHETHER(Request::Test(Status &status), MPI_Test(&handle, &answer, &status.handle))
ANSWERS_WHETHER(Request::Get_status() const, MPI_Request_get_status(handle, &answer, MPI_STATUS_IGNORE))
ANSWERS_WHETHER(Request::Get_status(Status &status) const, MPI_Request_get_status(handle, &answer, &status.handle))

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
    ANSWERS(kind, Comm::name(buffer data, int count, const Datatype &datatype, int peer, int tag) const, \
            *this, MPI_##name(data, count, datatype.handle, peer, tag, handle, &answer.handle))

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

ANSWERS_WHETHER(Comm::Iprobe(int from, int tag) const, *this, MPI_Iprobe(from, tag, handle, &answer, MPI_STATUS_IGNORE))
ANSWERS_WHETHER(Comm::Iprobe(int from, int tag, Status &status) const,
                *this, MPI_Iprobe(from, tag, handle, &answer, &status.handle))

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

ANSWERS(Group, Comm::Get_group() const, *this, MPI_Comm_group(handle, &answer.handle))
ANSWERS(int, Comm::Get_size() const, *this, MPI_Comm_size(handle, &answer))
ANSWERS(int, Comm::Get_rank() const, *this, MPI_Comm_rank(handle, &answer))
ANSWERS_WHETHER(Comm::Is_inter() const, *this, MPI_Comm_test_inter(handle, &answer))
ANSWERS(int, Comm::Get_topology() const, *this, MPI_Topo_test(handle, &answer))

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

ANSWERS(Errhandler, Comm::Get_errhandler() const, *this, MPI_Comm_get_errhandler(handle, &answer.handle))
ANSWERS_WHETHER(Comm::Get_attr(int key, void *value) const, *this, MPI_Comm_get_attr(handle, key, value, &answer))

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

ANSWERS(Intracomm, Intracomm::Create(const Group &group) const, *this, MPI_Comm_create(handle, group.handle, &answer.handle))
ANSWERS(Intracomm, Intracomm::Split(int color, int key) const, *this, MPI_Comm_split(handle, color, key, &answer.handle))
ANSWERS(Intercomm, Intracomm::Create_intercomm(int leader, const Comm &peers, int remote, int tag) const,
        *this, MPI_Intercomm_create(handle, leader, peers.handle, remote, tag, &answer.handle))
ANSWERS(Cartcomm, Intracomm::Create_cart(int dimensions, const int *sizes, const bool *periods, bool reorder) const,
        *this, MPI_Cart_create(handle, dimensions, sizes, integers(periods, dimensions).data(), reorder, &answer.handle))
ANSWERS(Graphcomm, Intracomm::Create_graph(int nodes, const int *index, const int *edges, bool reorder) const,
        *this, MPI_Graph_create(handle, nodes, index, edges, reorder, &answer.handle))
ANSWERS(Intercomm, Intracomm::Accept(const char *port, const Info &info, int root) const,
        *this, MPI_Comm_accept(port, info.handle, root, handle, &answer.handle))
ANSWERS(Intercomm, Intracomm::Connect(const char *port, const Info &info, int root) const,
        *this, MPI_Comm_connect(port, info.handle, root, handle, &answer.handle))
ANSWERS(Intercomm, Intercomm::Split(int color, int key) const, *this, MPI_Comm_split(handle, color, key, &answer.handle))
ANSWERS(Intracomm, Intercomm::Merge(bool high) const, *this, MPI_Intercomm_merge(handle, high, &answer.handle))
ANSWERS(Group, Intercomm::Get_remote_group() const, *this, MPI_Comm_remote_group(handle, &answer.handle))
#ifndef DIALECT_MPICH
ANSWERS(Intercomm, Intercomm::Create(const Group &group) const, *this, MPI_Comm_create(handle, group.handle, &answer.handle))

Intercomm Intracomm::Spawn(const char *command, const char **arguments, int processes, const Info &info, int root) const {
    return Spawn(command, arguments, processes, info, root, MPI_ERRCODES_IGNORE);
}

ANSWERS(Intercomm, Intracomm::Spawn(const char *command, const char **arguments, int processes, const Info &info, int root,
                                    int *codes) const,
        *this, MPI_Comm_spawn(command, const_cast<char **>(arguments), processes, info.handle, root, handle, &answer.handle, codes))

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

ANSWERS(int, Intercomm::Get_remote_size() const, *this, MPI_Comm_remote_size(handle, &answer))

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

ANSWERS(int, Cartcomm::Get_dim() const, *this, MPI_Cartdim_get(handle, &answer))

void Cartcomm::Get_topo(int room, int *sizes, bool *periods, int *coordinates) const {
    std::vector<int> found(room > 0 ? room : 0);
    ON_THIS(MPI_Cart_get(handle, room, sizes, found.data(), coordinates));
    for (int at = 0; at < room; at++) periods[at] = found[at] != 0;
}

ANSWERS(int, Cartcomm::Get_cart_rank(const int *coordinates) const, *this, MPI_Cart_rank(handle, coordinates, &answer))

void Cartcomm::Get_coords(int rank, int room, int *coordinates) const { ON_THIS(MPI_Cart_coords(handle, rank, room, coordinates)); }

void Cartcomm::Shift(int direction, int by, int &from, int &to) const { ON_THIS(MPI_Cart_shift(handle, direction, by, &from, &to)); }

ANSWERS(Cartcomm, Cartcomm::Sub(const bool *kept) const,
        *this, MPI_Cart_sub(handle, integers(kept, Get_dim()).data(), &answer.handle))
ANSWERS(int, Cartcomm::Map(int dimensions, const int *sizes, const bool *periods) const,
        *this, MPI_Cart_map(handle, dimensions, sizes, integers(periods, dimensions).data(), &answer))

void Graphcomm::Get_dims(int *nodes, int *edges) const { ON_THIS(MPI_Graphdims_get(handle, nodes, edges)); }

void Graphcomm::Get_topo(int indices, int edges, int *index_to, int *edges_to) const {
    ON_THIS(MPI_Graph_get(handle, indices, edges, index_to, edges_to));
}

ANSWERS(int, Graphcomm::Get_neighbors_count(int rank) const, *this, MPI_Graph_neighbors_count(handle, rank, &answer))

void Graphcomm::Get_neighbors(int rank, int room, int *to) const { ON_THIS(MPI_Graph_neighbors(handle, rank, room, to)); }

ANSWERS(int, Graphcomm::Map(int nodes, const int *index, const int *edges) const,
        *this, MPI_Graph_map(handle, nodes, index, edges, &answer))

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

ANSWERS(Group, Win::Get_group() const, *this, MPI_Win_get_group(handle, &answer.handle))

void Win::Fence(int assertion) const { ON_THIS(MPI_Win_fence(assertion, handle)); }
void Win::Start(const Group &group, int assertion) const { ON_THIS(MPI_Win_start(group.handle, assertion, handle)); }
void Win::Complete() const { ON_THIS(MPI_Win_complete(handle)); }
void Win::Post(const Group &group, int assertion) const { ON_THIS(MPI_Win_post(group.handle, assertion, handle)); }
void Win::Wait() const { ON_THIS(MPI_Win_wait(handle)); }

ANSWERS_WHETHER(Win::Test() const, *this, MPI_Win_test(handle, &answer))

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

ANSWERS(Errhandler, Win::Get_errhandler() const, *this, MPI_Win_get_errhandler(handle, &answer.handle))

#ifndef DIALECT_MPICH
void Win::Call_errhandler(int code) const { MPI_Win_call_errhandler(handle, code); }

void File::Close() { MPI_File_close(&handle); }
#endif

#ifdef DIALECT_MPICH
ANSWERS_WHETHER(Win::Get_attr(int key, void *value) const, *this, MPI_Win_get_attr(handle, key, value, &answer))
#endif

void Win::Set_attr(int key, const void *value) { ON_THIS(MPI_Win_set_attr(handle, key, const_cast<void *>(value))); }
void Win::Delete_attr(int key) { ON_THIS(MPI_Win_delete_attr(handle, key)); }
void Win::Get_name(char *name, int &length) const { ON_THIS(MPI_Win_get_name(handle, name, &length)); }
void Win::Set_name(const char *name) { ON_THIS(MPI_Win_set_name(handle, name)); }

} // namespace MPI

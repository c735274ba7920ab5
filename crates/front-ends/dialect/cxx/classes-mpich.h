// The classes of MPICH's C++ bindings, as programs know them that were compiled with its mpicxx.h: a table of virtual functions
// in this order, and the handle.

class Datatype {
public:
    typedef int Copy_attr_function(const Datatype &, int, void *, void *, void *, bool &);
    typedef int Delete_attr_function(Datatype &, int, void *, void *);
    MPI_Datatype handle;
    Datatype(MPI_Datatype of = MPI_DATATYPE_NULL) : handle(of) {}
    virtual ~Datatype() {}
    virtual void Commit();
    virtual void Free();
    virtual Datatype Create_indexed(int, const int *, const int *) const;
    virtual Datatype Create_contiguous(int) const;
    virtual Datatype Create_vector(int, int, int) const;
    virtual int Pack_size(int, const Comm &) const;
    virtual void Pack(const void *, int, void *, int, int &, const Comm &) const;
    virtual int Get_size() const;
    virtual void Get_envelope(int &, int &, int &, int &) const;
    virtual Datatype Create_hvector(int, int, Aint) const;
    virtual Datatype Create_resized(Aint, Aint) const;
    virtual Datatype Create_indexed_block(int, int, const int *) const;
    virtual Aint Pack_external_size(const char *, int) const;
    virtual Datatype Create_hindexed(int, const int *, const Aint *) const;
    virtual bool Get_attr(int, void *) const;
    virtual void Get_true_extent(Aint &, Aint &) const;
    virtual Datatype Create_darray(int, int, int, const int *, const int *, const int *, const int *, int) const;
    virtual void Get_contents(int, int, int, int *, Aint *, Datatype *) const;
    virtual void Set_attr(int, const void *);
    virtual void Set_name(const char *);
    virtual Datatype Create_subarray(int, const int *, const int *, const int *, int) const;
    virtual void Unpack_external(const char *, const void *, Aint, Aint &, void *, int) const;
    virtual void Pack_external(const char *, const void *, int, void *, Aint, Aint &) const;
    virtual void Get_extent(Aint &, Aint &) const;
    virtual void Delete_attr(int);
    virtual void Get_name(char *, int &) const;
    void Unpack(const void *, int, void *, int, int &, const Comm &) const;
    static int Create_keyval(Copy_attr_function *, Delete_attr_function *, void *);
};

class Info {
public:
    MPI_Info handle;
    Info(MPI_Info of = MPI_INFO_NULL) : handle(of) {}
    virtual ~Info() {}
    virtual void Delete(const char *);
    virtual void Get_nthkey(int, char *) const;
    virtual void Free();
    virtual void Set(const char *, const char *);
    virtual bool Get_valuelen(const char *, int &) const;
    virtual bool Get(const char *, int, char *) const;
    virtual int Get_nkeys() const;
};

class Status {
public:
    MPI_Status handle;
    Status() : handle() {}
    virtual ~Status() {}
    virtual bool Is_cancelled() const;
    virtual int Get_elements(const Datatype &) const;
    virtual int Get_count(const Datatype &) const;
    virtual void Set_cancelled(bool);
    virtual void Set_elements(const Datatype &, int);
};

class Group {
public:
    MPI_Group handle;
    Group(MPI_Group of = MPI_GROUP_NULL) : handle(of) {}
    virtual ~Group() {}
    virtual Group Excl(int, const int *) const;
    virtual int Get_rank() const;
    virtual void Free();
    virtual Group Range_excl(int, const int (*)[3]) const;
    virtual Group Range_incl(int, const int (*)[3]) const;
    virtual Group Incl(int, const int *) const;
    virtual int Get_size() const;
};

class Op {
public:
    MPI_Op handle;
    Op(MPI_Op of = MPI_OP_NULL) : handle(of) {}
    virtual ~Op() {}
    virtual void Free();
    virtual bool Is_commutative() const;
    virtual void Reduce_local(const void *, void *, int, const Datatype &) const;
    void Init(User_function *, bool);
};

class Errhandler {
public:
    MPI_Errhandler handle;
    Errhandler(MPI_Errhandler of = MPI_ERRHANDLER_NULL) : handle(of) {}
    virtual ~Errhandler() {}
    virtual void Free();
};

class Request {
public:
    MPI_Request handle;
    Request(MPI_Request of = MPI_REQUEST_NULL) : handle(of) {}
    virtual ~Request() {}
    virtual void Free();
    virtual void Wait(Status &);
    virtual void Wait();
    virtual bool Test(Status &);
    virtual bool Test();
    virtual void Cancel() const;
    virtual bool Get_status(Status &) const;
    virtual bool Get_status() const;
};

class Prequest : public Request {
public:
    Prequest(MPI_Request of = MPI_REQUEST_NULL) : Request(of) {}
    virtual ~Prequest() {}
    virtual void Start();
};

class Comm {
public:
    typedef int Copy_attr_function(const Comm &, int, void *, void *, void *, bool &);
    typedef int Delete_attr_function(Comm &, int, void *, void *);
    typedef void Errhandler_function(Comm &, int *, ...);
    MPI_Comm handle;
    Comm(MPI_Comm of = MPI_COMM_NULL) : handle(of) {}
    virtual ~Comm() {}
    virtual Group Get_group() const;
    virtual int Get_rank() const;
    virtual Prequest Bsend_init(const void *, int, const Datatype &, int, int) const;
    virtual Prequest Ssend_init(const void *, int, const Datatype &, int, int) const;
    virtual bool Is_inter() const;
    virtual Prequest Rsend_init(const void *, int, const Datatype &, int, int) const;
    virtual Request Ibsend(const void *, int, const Datatype &, int, int) const;
    virtual void Abort(int) const;
    virtual void Free();
    virtual Prequest Send_init(const void *, int, const Datatype &, int, int) const;
    virtual void Recv(void *, int, const Datatype &, int, int, Status &) const;
    virtual void Recv(void *, int, const Datatype &, int, int) const;
    virtual void Sendrecv(const void *, int, const Datatype &, int, int, void *, int, const Datatype &, int, int, Status &) const;
    virtual void Sendrecv(const void *, int, const Datatype &, int, int, void *, int, const Datatype &, int, int) const;
    virtual void Sendrecv_replace(void *, int, const Datatype &, int, int, int, int, Status &) const;
    virtual void Sendrecv_replace(void *, int, const Datatype &, int, int, int, int) const;
    virtual int Get_topology() const;
    virtual Request Isend(const void *, int, const Datatype &, int, int) const;
    virtual void Probe(int, int, Status &) const;
    virtual void Probe(int, int) const;
    virtual int Get_size() const;
    virtual Request Issend(const void *, int, const Datatype &, int, int) const;
    virtual void Set_errhandler(const Errhandler &);
    virtual void Send(const void *, int, const Datatype &, int, int) const;
    virtual Request Irsend(const void *, int, const Datatype &, int, int) const;
    virtual void Ssend(const void *, int, const Datatype &, int, int) const;
    virtual Prequest Recv_init(void *, int, const Datatype &, int, int) const;
    virtual bool Iprobe(int, int, Status &) const;
    virtual bool Iprobe(int, int) const;
    virtual void Bsend(const void *, int, const Datatype &, int, int) const;
    virtual Request Irecv(void *, int, const Datatype &, int, int) const;
    virtual Errhandler Get_errhandler() const;
    virtual void Rsend(const void *, int, const Datatype &, int, int) const;
    virtual void Gatherv(const void *, int, const Datatype &, void *, const int *, const int *, const Datatype &, int) const;
    virtual void Disconnect();
    virtual void Allreduce(const void *, void *, int, const Datatype &, const Op &) const;
    virtual void Alltoallw(const void *, const int *, const int *, const Datatype *, void *, const int *, const int *,
                 const Datatype *) const;
    virtual void Alltoall(const void *, int, const Datatype &, void *, int, const Datatype &) const;
    virtual bool Get_attr(int, void *) const;
    virtual void Barrier() const;
    virtual void Bcast(void *, int, const Datatype &, int) const;
    virtual void Set_attr(int, const void *);
    virtual void Set_name(const char *);
    virtual void Alltoallv(const void *, const int *, const int *, const Datatype &, void *, const int *, const int *,
                 const Datatype &) const;
    virtual void Reduce_scatter(const void *, void *, const int *, const Datatype &, const Op &) const;
    virtual void Scatter(const void *, int, const Datatype &, void *, int, const Datatype &, int) const;
    virtual void Gather(const void *, int, const Datatype &, void *, int, const Datatype &, int) const;
    virtual void Reduce(const void *, void *, int, const Datatype &, const Op &, int) const;
    virtual void Allgather(const void *, int, const Datatype &, void *, int, const Datatype &) const;
    virtual void Delete_attr(int);
    virtual void Scatterv(const void *, const int *, const int *, const Datatype &, void *, int, const Datatype &, int) const;
    virtual void Get_name(char *, int &) const;
    virtual void Allgatherv(const void *, int, const Datatype &, void *, const int *, const int *, const Datatype &) const;
    virtual Comm &Clone() const = 0;
    virtual void Call_errhandler(int) const;
    virtual void Reduce_scatter_block(const void *, void *, int, const Datatype &, const Op &) const;
    static Intercomm Join(int);
    static Intercomm Get_parent();
    static int Create_keyval(Copy_attr_function *, Delete_attr_function *, void *);
    static Errhandler Create_errhandler(Errhandler_function *);
};

class Nullcomm : public Comm {
public:
    Nullcomm(MPI_Comm of = MPI_COMM_NULL) : Comm(of) {}
    virtual ~Nullcomm() {}
    virtual Nullcomm &Clone() const;
};

class Intercomm : public Comm {
public:
    Intercomm(MPI_Comm of = MPI_COMM_NULL) : Comm(of) {}
    virtual ~Intercomm() {}
    virtual Intracomm Merge(bool) const;
    virtual Group Get_remote_group() const;
    virtual int Get_remote_size() const;
    virtual Intercomm Split(int, int) const;
    virtual Intercomm &Clone() const;
};

class Intracomm : public Comm {
public:
    Intracomm(MPI_Comm of = MPI_COMM_NULL) : Comm(of) {}
    virtual ~Intracomm() {}
    virtual Intercomm Create_intercomm(int, const Comm &, int, int) const;
    virtual Intracomm Split(int, int) const;
    virtual Graphcomm Create_graph(int, const int *, const int *, bool) const;
    virtual Cartcomm Create_cart(int, const int *, const bool *, bool) const;
    virtual Intracomm Create(const Group &) const;
    virtual void Scan(const void *, void *, int, const Datatype &, const Op &) const;
    virtual void Exscan(const void *, void *, int, const Datatype &, const Op &) const;
    virtual Intercomm Accept(const char *, const Info &, int) const;
    virtual Intercomm Connect(const char *, const Info &, int) const;
    virtual Intracomm &Clone() const;
};

class Grequest : public Request {
public:
    typedef int Query_function(void *, Status &);
    typedef int Free_function(void *);
    typedef int Cancel_function(void *, bool);
    Grequest(MPI_Request of = MPI_REQUEST_NULL) : Request(of) {}
    virtual ~Grequest() {}
    virtual void Complete();
    Grequest Start(Query_function *, Free_function *, Cancel_function *, void *);
};

class Win {
public:
    typedef int Copy_attr_function(const Win &, int, void *, void *, void *, bool &);
    typedef int Delete_attr_function(Win &, int, void *, void *);
    typedef void Errhandler_function(Win &, int *, ...);
    MPI_Win handle;
    Win(MPI_Win of = MPI_WIN_NULL) : handle(of) {}
    virtual ~Win() {}
    virtual Group Get_group() const;
    virtual void Fence(int) const;
    virtual void Start(const Group &, int) const;
    virtual void Free();
    virtual void Put(const void *, int, const Datatype &, int, Aint, int, const Datatype &) const;
    virtual void Wait() const;
    virtual bool Test() const;
    virtual void Get(void *, int, const Datatype &, int, Aint, int, const Datatype &) const;
    virtual bool Get_attr(int, void *) const;
    virtual void Set_attr(int, const void *);
    virtual void Complete() const;
    virtual void Set_errhandler(const Errhandler &);
    virtual void Set_name(const char *);
    virtual void Accumulate(const void *, int, const Datatype &, int, Aint, int, const Datatype &, const Op &) const;
    virtual void Post(const Group &, int) const;
    virtual void Unlock(int) const;
    virtual void Delete_attr(int);
    virtual void Lock(int, int, int) const;
    virtual Errhandler Get_errhandler() const;
    virtual void Get_name(char *, int &) const;
    virtual void Call_errhandler(int) const;
    static int Create_keyval(Copy_attr_function *, Delete_attr_function *, void *);
    static Errhandler Create_errhandler(Errhandler_function *);
};

class File {
public:
    typedef void Errhandler_function(File &, int *, ...);
    MPI_File handle;
    File(MPI_File of = MPI_FILE_NULL) : handle(of) {}
    virtual ~File() {}
    virtual Aint Get_type_extent(const Datatype &) const;
    virtual void Read_ordered_end(void *, Status &);
    virtual void Read_ordered_end(void *);
    virtual void Seek_shared(Offset, int);
    virtual void Read_ordered(void *, int, const Datatype &, Status &);
    virtual void Read_ordered(void *, int, const Datatype &);
    virtual Request Iread_shared(void *, int, const Datatype &);
    virtual Info Get_info() const;
    virtual void Write_ordered_begin(const void *, int, const Datatype &);
    virtual void Set_info(const Info &);
    virtual void Write_ordered(const void *, int, const Datatype &, Status &);
    virtual void Write_ordered(const void *, int, const Datatype &);
    virtual void Sync();
    virtual void Read(void *, int, const Datatype &, Status &);
    virtual void Read(void *, int, const Datatype &);
    virtual void Write_all(const void *, int, const Datatype &, Status &);
    virtual void Write_all(const void *, int, const Datatype &);
    virtual Offset Get_size() const;
    virtual void Write_all_end(const void *, Status &);
    virtual void Write_all_end(const void *);
    virtual void Read_ordered_begin(void *, int, const Datatype &);
    virtual Request Iread_at(Offset, void *, int, const Datatype &);
    virtual void Write_at_all_end(const void *, Status &);
    virtual void Write_at_all_end(const void *);
    virtual Offset Get_position_shared() const;
    virtual void Write_shared(const void *, int, const Datatype &, Status &);
    virtual void Write_shared(const void *, int, const Datatype &);
    virtual Request Iwrite_at(Offset, const void *, int, const Datatype &);
    virtual void Get_view(Offset &, Datatype &, Datatype &, char *) const;
    virtual void Write_all_begin(const void *, int, const Datatype &);
    virtual void Read_all_end(void *, Status &);
    virtual void Read_all_end(void *);
    virtual Offset Get_byte_offset(Offset) const;
    virtual Request Iread(void *, int, const Datatype &);
    virtual void Read_at_all_end(void *, Status &);
    virtual void Read_at_all_end(void *);
    virtual void Write_at(Offset, const void *, int, const Datatype &, Status &);
    virtual void Write_at(Offset, const void *, int, const Datatype &);
    virtual void Write_at_all_begin(Offset, const void *, int, const Datatype &);
    virtual Errhandler Get_errhandler() const;
    virtual int Get_amode() const;
    virtual void Set_atomicity(bool);
    virtual Group Get_group() const;
    virtual Offset Get_position() const;
    virtual void Seek(Offset, int);
    virtual void Read_all_begin(void *, int, const Datatype &);
    virtual void Read_at_all_begin(Offset, void *, int, const Datatype &);
    virtual void Read_all(void *, int, const Datatype &, Status &);
    virtual void Read_all(void *, int, const Datatype &);
    virtual void Preallocate(Offset);
    virtual void Read_at_all(Offset, void *, int, const Datatype &, Status &);
    virtual void Read_at_all(Offset, void *, int, const Datatype &);
    virtual void Read_shared(void *, int, const Datatype &, Status &);
    virtual void Read_shared(void *, int, const Datatype &);
    virtual Request Iwrite(const void *, int, const Datatype &);
    virtual Request Iwrite_shared(const void *, int, const Datatype &);
    virtual void Set_errhandler(const Errhandler &);
    virtual void Write_at_all(Offset, const void *, int, const Datatype &, Status &);
    virtual void Write_at_all(Offset, const void *, int, const Datatype &);
    virtual void Set_size(Offset);
    virtual void Set_view(Offset, const Datatype &, Datatype, const char *, const Info &);
    virtual void Read_at(Offset, void *, int, const Datatype &, Status &);
    virtual void Read_at(Offset, void *, int, const Datatype &);
    virtual void Close();
    virtual void Write_ordered_end(const void *, Status &);
    virtual void Write_ordered_end(const void *);
    virtual void Write(const void *, int, const Datatype &, Status &);
    virtual void Write(const void *, int, const Datatype &);
    virtual bool Get_atomicity() const;
    virtual void Call_errhandler(int) const;
    static Errhandler Create_errhandler(Errhandler_function *);
};

class Graphcomm : public Intracomm {
public:
    Graphcomm(MPI_Comm of = MPI_COMM_NULL) : Intracomm(of) {}
    virtual ~Graphcomm() {}
    virtual void Get_dims(int *, int *) const;
    virtual void Get_topo(int, int, int *, int *) const;
    virtual int Map(int, const int *, const int *) const;
    virtual void Get_neighbors(int, int, int *) const;
    virtual int Get_neighbors_count(int) const;
    virtual Graphcomm &Clone() const;
};

class Cartcomm : public Intracomm {
public:
    Cartcomm(MPI_Comm of = MPI_COMM_NULL) : Intracomm(of) {}
    virtual ~Cartcomm() {}
    virtual void Get_coords(int, int, int *) const;
    virtual int Get_cart_rank(const int *) const;
    virtual int Get_dim() const;
    virtual void Get_topo(int, int *, bool *, int *) const;
    virtual int Map(int, const int *, const bool *) const;
    virtual Cartcomm Sub(const bool *) const;
    virtual void Shift(int, int, int &, int &) const;
    virtual Cartcomm &Clone() const;
};


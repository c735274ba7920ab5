//! Questions to the library that several tools ask.
//!
//! A question about a handle that is none goes to the program's error handler, under the name of a function that the program
//! did not call. So handles are asked about after the library has accepted them.

use crate::real::Real;

/// The handle of no communicator.
pub const COMM_NULL: usize = abi::COMM_NULL.0;
/// The handle of `MPI_COMM_WORLD`.
pub const COMM_WORLD: usize = abi::COMM_WORLD.0;

macro_rules! two {
    ($(#[$doc:meta])* $name:ident, $real:literal, $answer:ty) => {
        $(#[$doc])*
        pub fn $name(handle: usize) -> $answer {
            static REAL: Real = Real::new($real);
            let mut answer: $answer = 0;
            // SAFETY: the function takes a handle and a pointer to what it answers.
            unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut $answer) -> i32>(REAL.address())(
                    handle,
                    &raw mut answer,
                )
            };
            answer
        }
    };
}

/// The handle of `MPI_COMM_SELF`.
pub const COMM_SELF: usize = abi::COMM_SELF.0;

two!(/// The rank of this process in a communicator.
    comm_rank, c"PMPI_Comm_rank", i32);
two!(/// The size of a communicator; of its own group where it has two.
    comm_size, c"PMPI_Comm_size", i32);
two!(/// Whether a communicator has two groups.
    comm_test_inter, c"PMPI_Comm_test_inter", i32);
two!(/// The group of a communicator, to be freed.
    comm_group, c"PMPI_Comm_group", usize);
two!(/// The other group of a communicator, to be freed.
    comm_remote_group, c"PMPI_Comm_remote_group", usize);
two!(/// The group of a window, to be freed.
    win_group, c"PMPI_Win_get_group", usize);
two!(/// The size of a group.
    group_size, c"PMPI_Group_size", i32);
two!(/// The bytes of a datatype's data.
    type_size_of, c"PMPI_Type_size_c", i64);

/// The bytes of a datatype's data; 0 for none.
pub fn type_size(datatype: usize) -> i64 {
    if datatype == abi::DATATYPE_NULL.0 || datatype == 0 { 0 } else { type_size_of(datatype) }
}

/// Lower bound and extent of a datatype.
pub fn type_extent(datatype: usize) -> (i64, i64) {
    static REAL: Real = Real::new(c"PMPI_Type_get_extent_c");
    bounds(&REAL, datatype)
}

/// Lower bound and extent of what a datatype's data occupy.
pub fn type_true_extent(datatype: usize) -> (i64, i64) {
    static REAL: Real = Real::new(c"PMPI_Type_get_true_extent_c");
    bounds(&REAL, datatype)
}

fn bounds(real: &Real, datatype: usize) -> (i64, i64) {
    let (mut lower, mut extent) = (0i64, 0i64);
    // SAFETY: both functions take a datatype and two pointers to counts.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut i64, *mut i64) -> i32>(real.address())(
            datatype,
            &raw mut lower,
            &raw mut extent,
        )
    };
    (lower, extent)
}

/// What the library says of a datatype's signature, in words that the crate `datatype` reads; `None`: it has no data.
pub fn signature(datatype: usize) -> Option<[u64; 3]> {
    static REAL: Real = Real::new(c"alhena_signature_1");
    let mut words = [0; 3];
    // SAFETY: the function takes a datatype and room for three words.
    let found = unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut [u64; 3]) -> bool>(REAL.address())(
            datatype,
            &raw mut words,
        )
    };
    found.then_some(words)
}

/// Tells the library which calls began what this thread's next call waits for, by the addresses to which they return: it shows them
/// where the call waits for long, or fails. None: that is not known.
pub fn set_call_origins(addresses: &[u64]) {
    static REAL: Real = Real::new(c"alhena_call_origins_1");
    // SAFETY: the function takes addresses, and how many there are.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*const u64, usize)>(REAL.address())(
            addresses.as_ptr(),
            addresses.len(),
        )
    };
}

/// The thread level in force.
pub fn thread_level() -> i32 {
    static REAL: Real = Real::new(c"PMPI_Query_thread");
    let mut level = 0i32;
    // SAFETY: the function takes a pointer to an int.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut i32) -> i32>(REAL.address())(&raw mut level)
    };
    level
}

/// Has the library measure for how long calls wait; whether it can.
pub(crate) fn measure_waits() -> bool {
    static REAL: Real = Real::new(c"alhena_measure_waits_1");
    // SAFETY: the function takes nothing.
    unsafe { core::mem::transmute::<usize, unsafe extern "C" fn() -> bool>(REAL.address())() }
}

/// Nanoseconds for which this thread has waited in calls since they are measured.
#[inline]
pub(crate) fn waited() -> u64 {
    static REAL: Real = Real::new(c"alhena_waited_1");
    // SAFETY: the function takes nothing.
    unsafe { core::mem::transmute::<usize, unsafe extern "C" fn() -> u64>(REAL.address())() }
}

/// Frees a group.
pub fn group_free(mut group: usize) {
    static REAL: Real = Real::new(c"PMPI_Group_free");
    // SAFETY: the function takes a pointer to a group.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut usize) -> i32>(REAL.address())(&raw mut group)
    };
}

/// The ranks of `group` in `MPI_COMM_WORLD`, or `None` for those that are not in it. Frees the group.
pub fn world_ranks(group: usize) -> Vec<Option<u32>> {
    static TRANSLATE: Real = Real::new(c"PMPI_Group_translate_ranks");
    let world = comm_group(COMM_WORLD);
    let size = group_size(group).max(0);
    let (from, mut to) = ((0..size).collect::<Vec<i32>>(), vec![-1i32; size as usize]);
    // SAFETY: the function takes a group, a number, that many ranks, a group, and room for as many ranks.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, i32, *const i32, usize, *mut i32) -> i32>(
            TRANSLATE.address(),
        )(group, size, from.as_ptr(), world, to.as_mut_ptr())
    };
    group_free(group);
    group_free(world);
    to.into_iter().map(|rank| u32::try_from(rank).ok()).collect()
}

two!(/// A communicator of the same processes, to be freed by all of them. All of them ask.
    comm_dup, c"PMPI_Comm_dup", usize);

/// Frees a communicator; all its processes do.
pub fn comm_free(mut comm: usize) {
    static REAL: Real = Real::new(c"PMPI_Comm_free");
    // SAFETY: the function takes a pointer to a communicator.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut usize) -> i32>(REAL.address())(&raw mut comm)
    };
}

/// What each of the `size` processes of the job gives; all of them ask.
pub fn allgather(own: u64, size: usize) -> Vec<u64> {
    static REAL: Real = Real::new(c"PMPI_Allgather");
    type Function = unsafe extern "C" fn(*const u64, i32, usize, *mut u64, i32, usize, usize) -> i32;
    let mut all = vec![0; size];
    let word = abi::UINT64_T.0;
    // SAFETY: the function takes a word, and room for a word of each process.
    unsafe {
        core::mem::transmute::<usize, Function>(REAL.address())(
            &raw const own,
            1,
            word,
            all.as_mut_ptr(),
            1,
            word,
            COMM_WORLD,
        )
    };
    all
}

/// Sends a word to a process of a communicator that the program does not have.
pub fn send(comm: usize, rank: u32, word: u64) {
    static REAL: Real = Real::new(c"PMPI_Send");
    type Function = unsafe extern "C" fn(*const u64, i32, usize, i32, i32, usize) -> i32;
    // SAFETY: the function takes a word, what it is, a rank, a tag and a communicator.
    unsafe {
        core::mem::transmute::<usize, Function>(REAL.address())(
            &raw const word,
            1,
            abi::UINT64_T.0,
            rank as i32,
            0,
            comm,
        )
    };
}

/// The next word that a process of such a communicator sends.
pub fn receive(comm: usize, rank: u32) -> u64 {
    static REAL: Real = Real::new(c"PMPI_Recv");
    type Function = unsafe extern "C" fn(*mut u64, i32, usize, i32, i32, usize, usize) -> i32;
    let mut word = 0;
    // SAFETY: the function takes room for a word, what it is, a rank, a tag, a communicator, and no status.
    unsafe {
        core::mem::transmute::<usize, Function>(REAL.address())(
            &raw mut word,
            1,
            abi::UINT64_T.0,
            rank as i32,
            0,
            comm,
            0,
        )
    };
    word
}

/// Neighbours that this process sends to, by the topology of a communicator; 0 where it has none.
pub fn destinations(comm: usize) -> usize {
    static TOPOLOGY: Real = Real::new(c"PMPI_Topo_test");
    static DIMENSIONS: Real = Real::new(c"PMPI_Cartdim_get");
    static NEIGHBOURS: Real = Real::new(c"PMPI_Graph_neighbors_count");
    static DISTRIBUTED: Real = Real::new(c"PMPI_Dist_graph_neighbors_count");
    let mut kind = 0i32;
    let (mut count, mut other, mut weighted) = (0i32, 0i32, 0i32);
    // SAFETY: each function takes a communicator, a rank where there is one, and pointers to ints.
    unsafe {
        let one = |real: &Real, answer: *mut i32| {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut i32) -> i32>(real.address())(
                comm, answer,
            )
        };
        one(&TOPOLOGY, &raw mut kind);
        match kind {
            abi::CART => {
                one(&DIMENSIONS, &raw mut count);
                count *= 2;
            }
            abi::GRAPH => {
                core::mem::transmute::<usize, unsafe extern "C" fn(usize, i32, *mut i32) -> i32>(
                    NEIGHBOURS.address(),
                )(comm, comm_rank(comm), &raw mut count);
            }
            abi::DIST_GRAPH => {
                core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut i32, *mut i32, *mut i32) -> i32>(
                    DISTRIBUTED.address(),
                )(comm, &raw mut other, &raw mut count, &raw mut weighted);
            }
            _ => {}
        }
    }
    count.max(0) as usize
}

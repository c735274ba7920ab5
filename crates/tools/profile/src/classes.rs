//! What each function moves, found from its arguments once.
//!
//! Bytes are counted as mpiP counts them, so that reports agree: what the arguments for sending say, once for each call, at
//! every rank that calls (`MPI_Alltoall` counts one block, `MPI_Bcast` counts at leaves, too). Sends that are started
//! again count at each start.

use std::sync::OnceLock;

use interpose::{Argument, Direction, FUNCTIONS, Function, Kind, Shape};

/// What a function moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// Nothing.
    #[default]
    Nothing,
    /// Messages.
    Sends,
    /// Data between memory and file.
    File,
    /// Data between memory and a window.
    Window,
}

/// The class of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Class {
    /// What it moves.
    pub moves: Moves,
    /// How many elements: the argument's place.
    pub count: Option<usize>,
    /// Of which type.
    pub datatype: Option<usize>,
    /// Partitions, each with that many elements.
    pub partitions: Option<usize>,
    /// What takes their place where the first buffer is `MPI_IN_PLACE`.
    pub in_place: Option<(usize, usize)>,
    /// The first buffer.
    pub buffer: Option<usize>,
    /// The rank to which it sends, or whose window it uses.
    pub peer: Option<usize>,
    /// The communicator or window.
    pub group: Option<usize>,
    /// It makes a request that is started later.
    pub persistent: bool,
    /// It takes all processes of a communicator.
    pub collective: bool,
}

/// The class of function `number`.
pub fn of(number: usize) -> &'static Class {
    static ALL: OnceLock<Vec<Class>> = OnceLock::new();
    &ALL.get_or_init(|| FUNCTIONS.iter().map(class).collect())[number]
}

fn class(function: &Function) -> Class {
    let name = function.base();
    let place = |name: &str| function.place(name);
    let group = function.arguments.iter().position(|it| {
        matches!(it.kind, Kind::Comm | Kind::Win) && it.direction == Direction::In && it.shape == Shape::One
    });
    let all = Class {
        buffer: function.arguments.iter().position(is_buffer),
        group,
        persistent: name.ends_with("_init"),
        collective: matches!(function.chapter, 6 | 8),
        ..Class::default()
    };
    match function.chapter {
        3 | 4 if !is_receive(name) => Class {
            moves: Moves::Sends,
            count: place("sendcount").or(place("count")),
            datatype: place("sendtype").or(place("datatype")),
            partitions: place("partitions"),
            peer: place("dest"),
            ..all
        },
        6 | 8 => Class {
            moves: Moves::Sends,
            count: place("sendcount")
                .or(place("sendcounts"))
                .or(place("count"))
                .or(place("recvcount"))
                .or(place("recvcounts")),
            datatype: place("sendtype").or(place("sendtypes")).or(place("datatype")),
            in_place: place("recvcount").zip(place("recvtype")),
            ..all
        },
        12 if place("target_rank").is_some() => Class {
            moves: Moves::Window,
            count: place("origin_count"),
            datatype: place("origin_datatype").or(place("datatype")),
            peer: place("target_rank"),
            ..all
        },
        14 => Class { moves: Moves::File, count: place("count"), datatype: place("datatype"), ..all },
        _ => Class::default(),
    }
    .checked()
}

impl Class {
    /// A function without data moves none.
    fn checked(self) -> Class {
        let has_data = self.buffer.is_some() && self.datatype.is_some();
        let has_count = self.count.is_some() || self.moves == Moves::Window;
        match has_data && has_count && (self.group.is_some() || self.moves == Moves::File) {
            true => self,
            false => Class { moves: Moves::Nothing, ..self },
        }
    }
}

fn is_buffer(argument: &Argument) -> bool {
    matches!(argument.kind, Kind::Buffer | Kind::ConstBuffer)
}

fn is_receive(name: &str) -> bool {
    matches!(name, "Recv" | "Irecv" | "Mrecv" | "Imrecv" | "Recv_init" | "Precv_init")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Class {
        *of(FUNCTIONS.iter().position(|it| it.name == name).expect(name))
    }

    #[test]
    fn functions_move_what_their_arguments_say() {
        for (name, moves, count, datatype, peer) in [
            ("MPI_Send", Moves::Sends, Some(1), Some(2), Some(3)),
            ("MPI_Recv", Moves::Nothing, None, None, None),
            ("MPI_Isend_c", Moves::Sends, Some(1), Some(2), Some(3)),
            ("MPI_Sendrecv", Moves::Sends, Some(1), Some(2), Some(3)),
            ("MPI_Send_init", Moves::Sends, Some(1), Some(2), Some(3)),
            ("MPI_Bcast", Moves::Sends, Some(1), Some(2), None),
            ("MPI_Allreduce", Moves::Sends, Some(2), Some(3), None),
            ("MPI_Alltoallw", Moves::Sends, Some(1), Some(3), None),
            ("MPI_Reduce_scatter", Moves::Sends, Some(2), Some(3), None),
            ("MPI_Barrier", Moves::Nothing, None, None, None),
            ("MPI_Put", Moves::Window, Some(1), Some(2), Some(3)),
            ("MPI_Fetch_and_op", Moves::Window, None, Some(2), Some(3)),
            ("MPI_File_write_at", Moves::File, Some(3), Some(4), None),
            ("MPI_File_open", Moves::Nothing, None, None, None),
        ] {
            let class = named(name);
            assert_eq!(class.moves, moves, "{name}");
            if moves != Moves::Nothing {
                assert_eq!((class.count, class.datatype, class.peer), (count, datatype, peer), "{name}");
            }
        }
        assert!(named("MPI_Send_init").persistent && named("MPI_Allreduce_init").persistent);
        for name in [
            "MPI_Pack",
            "MPI_Get_count",
            "MPI_Reduce_local",
            "MPI_Comm_dup",
            "MPI_Buffer_attach",
            "MPI_Win_create",
        ] {
            assert_eq!(named(name).moves, Moves::Nothing, "{name}");
        }
    }
}

//! What is written of a call's arguments: see the crate `recording`.

use interpose::{Argument, Call, Direction, Function, Kind, Shape, ask};

use crate::state;

/// `MPI_Pcontrol` means nothing to a simulator.
pub fn is_recorded(function: &Function) -> bool {
    function.name != "MPI_Pcontrol"
}

/// What is written of a call before the library's function changes it.
pub fn before(call: &Call<'_>) -> Vec<i64> {
    let mut values = Vec::new();
    for (place, argument) in call.arguments() {
        if !at_root_only(call.function, argument) {
            input(call, place, argument, &mut values);
        }
    }
    values
}

/// At all ranks but the root the library does not look at these, so the caller may pass anything.
fn at_root_only(function: &Function, argument: &Argument) -> bool {
    function.place("root").is_some()
        && (function.name.contains("ather") && argument.name.starts_with("recv")
            || function.name.contains("catter") && argument.name.starts_with("send"))
}

fn input(call: &Call<'_>, place: usize, argument: &Argument, values: &mut Vec<i64>) {
    let goes_in = argument.direction != Direction::Out;
    match (argument.shape, argument.kind) {
        (Shape::One, Kind::Datatype) if argument.is_value() => values.push(ask::type_size(call.word(place))),
        (Shape::One, Kind::Comm | Kind::Int | Kind::Count | Kind::Displ | Kind::Bytes)
            if argument.is_value() =>
        {
            values.push(call.number_at(place));
        }
        (Shape::One, Kind::Request) if goes_in => values.push(call.handle(place) as i64),
        (Shape::Array(_), Kind::Request) if goes_in => {
            let length = call.length(place);
            values.push(length as i64);
            values.extend((0..length).map(|index| call.element(place, index)));
        }
        (Shape::Known, Kind::Count) if argument.direction == Direction::In => {
            if let Some(comm) = call.comm() {
                let ranks = if call.word(place) == 0 { 0 } else { ask::comm_size(comm).max(0) };
                values.push(ranks.into());
                values.extend((0..ranks as usize).map(|index| call.element(place, index)));
            }
        }
        _ => {}
    }
}

/// What is written of a call after the library's function has changed it.
pub fn after(call: &Call<'_>, values: &mut Vec<i64>) {
    for (place, argument) in call.arguments().filter(|(_, it)| it.direction != Direction::In) {
        match (argument.shape, argument.kind) {
            (Shape::One, Kind::Request) if argument.direction == Direction::Out => {
                values.push(call.element(place, 0));
            }
            (Shape::One, Kind::Comm) => {
                let handle = call.element(place, 0);
                values.push(handle);
                if let Some(ranks) = world_ranks(handle as usize) {
                    state::with(|recording| recording.comm(handle, &ranks));
                }
            }
            (Shape::One, Kind::Int) => values.push(call.element(place, 0)),
            (Shape::Array(_), Kind::Int) if argument.name == "array_of_indices" => {
                let count =
                    call.function.place("outcount").map_or(0, |outcount| call.element(outcount, 0)).max(0);
                values.push(count);
                values.extend((0..count as usize).map(|index| call.element(place, index)));
            }
            _ => {}
        }
    }
}

/// The ranks of an intra-communicator, as ranks of the world.
fn world_ranks(comm: usize) -> Option<Vec<u32>> {
    if comm == ask::COMM_NULL || comm == 0 || ask::comm_test_inter(comm) != 0 {
        return None;
    }
    ask::world_ranks(ask::comm_group(comm)).into_iter().collect()
}

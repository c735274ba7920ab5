//! Cartesian topologies (MPI-5.0 sections 8.5.1, 8.5.5 to 8.5.7): a grid of processes in row-major order.

use abi::{Error, Result};
use ffi::Array;

use super::create::{alike, split_by};
use super::topology::{attach, plain_size, topology_of};
use objects::domain::Token;
use objects::state::State;
use objects::topology::{Cart, Topology};

/// The topology of a communicator, if it is of this kind.
fn cart(state: &State, comm: abi::Comm) -> Result<&Cart> {
    match topology_of(state, comm)? {
        Topology::Cart(cart) => Ok(cart),
        _ => Err(Error::new(abi::ERR_TOPOLOGY, "the communicator's topology is not Cartesian")),
    }
}

/// `MPI_Cart_create`
pub fn cart_create(
    t: &mut Token,
    comm: abi::Comm,
    dims: &[i32],
    periods: &[i32],
    _reorder: i32,
    new: &mut abi::Comm,
) -> Result<()> {
    *new = abi::COMM_NULL;
    let cart = {
        let state = t.lock();
        Cart::new(dims, periods, plain_size(&state, comm)?)?
    };
    attach(t, comm, cart.size(), Topology::Cart(cart), new)
}

/// `MPI_Cart_map`: the rank that `MPI_Cart_create` with `reorder` would give.
pub fn cart_map(t: &mut Token, comm: abi::Comm, dims: &[i32], periods: &[i32], rank: &mut i32) -> Result<()> {
    let state = t.lock();
    let cart = Cart::new(dims, periods, plain_size(&state, comm)?)?;
    let mine = state.comm(comm)?.rank;
    *rank = if mine < cart.size() { mine as i32 } else { abi::UNDEFINED };
    Ok(())
}

/// `MPI_Cartdim_get`
pub fn cartdim_get(t: &mut Token, comm: abi::Comm, ndims: &mut i32) -> Result<()> {
    *ndims = cart(&t.lock(), comm)?.dims.len() as i32;
    Ok(())
}

/// `MPI_Cart_get`
pub fn cart_get(
    t: &mut Token,
    comm: abi::Comm,
    dims: &mut [i32],
    periods: &mut [i32],
    coords: &mut [i32],
) -> Result<()> {
    let state = t.lock();
    let cart = cart(&state, comm)?;
    let own = cart.coords(state.comm(comm)?.rank);
    enough(dims.len(), cart.dims.len())?;
    dims.iter_mut().zip(&cart.dims).for_each(|(out, &dim)| *out = dim);
    periods.iter_mut().zip(&cart.periods).for_each(|(out, &periodic)| *out = i32::from(periodic));
    coords.iter_mut().zip(own).for_each(|(out, coord)| *out = coord);
    Ok(())
}

fn enough(room: usize, needed: usize) -> Result<()> {
    if room < needed {
        return Err(Error::new(abi::ERR_ARG, "the arrays are shorter than the number of dimensions"));
    }
    Ok(())
}

/// `MPI_Cart_rank`
pub fn cart_rank(t: &mut Token, comm: abi::Comm, coords: Array<'_, i32>, rank: &mut i32) -> Result<()> {
    let state = t.lock();
    let cart = cart(&state, comm)?;
    let found = cart.rank(coords.first(cart.dims.len())?);
    *rank = found.ok_or(Error::new(abi::ERR_ARG, "coordinates lie outside the grid"))? as i32;
    Ok(())
}

/// `MPI_Cart_coords`
pub fn cart_coords(t: &mut Token, comm: abi::Comm, rank: i32, coords: &mut [i32]) -> Result<()> {
    let state = t.lock();
    let cart = cart(&state, comm)?;
    if rank < 0 || rank as u32 >= state.comm(comm)?.size() {
        return Err(Error::new(abi::ERR_RANK, "the rank lies outside the communicator"));
    }
    enough(coords.len(), cart.dims.len())?;
    coords.iter_mut().zip(cart.coords(rank as u32)).for_each(|(out, coord)| *out = coord);
    Ok(())
}

/// `MPI_Cart_shift`
pub fn cart_shift(
    t: &mut Token,
    comm: abi::Comm,
    direction: i32,
    displacement: i32,
    source: &mut i32,
    dest: &mut i32,
) -> Result<()> {
    let state = t.lock();
    let cart = cart(&state, comm)?;
    let rank = state.comm(comm)?.rank;
    let dimension = usize::try_from(direction).ok().filter(|&d| d < cart.dims.len());
    let dimension = dimension.ok_or(Error::new(abi::ERR_DIMS, "the grid has no such dimension"))?;
    let or_null = |rank: Option<u32>| rank.map_or(abi::PROC_NULL, |rank| rank as i32);
    *dest = or_null(cart.shifted(rank, dimension, displacement));
    *source = or_null(displacement.checked_neg().and_then(|back| cart.shifted(rank, dimension, back)));
    Ok(())
}

/// `MPI_Cart_sub`
pub fn cart_sub(t: &mut Token, comm: abi::Comm, remain: Array<'_, i32>, new: &mut abi::Comm) -> Result<()> {
    let (color, key, part) = {
        let state = t.lock();
        let cart = cart(&state, comm)?;
        let remain = remain.first(cart.dims.len())?;
        let coords = cart.coords(state.comm(comm)?.rank);
        let (mut color, mut key) = (0, 0);
        let mut part = Cart { dims: Vec::new(), periods: Vec::new() };
        for (d, &kept) in remain.iter().enumerate() {
            if kept != 0 {
                key = key * cart.dims[d] + coords[d];
                part.dims.push(cart.dims[d]);
                part.periods.push(cart.periods[d]);
            } else {
                color = color * cart.dims[d] + coords[d];
            }
        }
        (color, key, part)
    };
    alike(t, comm, new, |t| {
        let new = split_by(t, comm, color, key)?;
        t.lock().comms.get_mut(new)?.topology = Some(Topology::Cart(part));
        Ok(new)
    })
}

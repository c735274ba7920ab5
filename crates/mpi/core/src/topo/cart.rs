//! Cartesian topologies (MPI-5.0 sections 8.5.1, 8.5.5 to 8.5.7): a grid of processes in row-major order.

use abi::{Error, Result};
use ffi::Array;

use super::{Neighbours, Topology, attach};
use crate::domain::Token;
use crate::state::State;

/// A grid.
#[derive(Clone, Debug)]
pub(crate) struct Cart {
    pub dims: Vec<i32>,
    pub periods: Vec<bool>,
}

impl Cart {
    fn new(dims: &[i32], periods: &[i32], available: u32) -> Result<Cart> {
        let size = dims.iter().try_fold(1u32, |product, &dim| {
            u32::try_from(dim).ok().filter(|&dim| dim > 0).and_then(|dim| product.checked_mul(dim))
        });
        let size =
            size.ok_or(Error::new(abi::ERR_DIMS, "a dimension is not positive, or they are too large"))?;
        if size > available {
            return Err(Error::new(
                abi::ERR_DIMS,
                "the grid has more places than the communicator processes",
            ));
        }
        Ok(Cart { dims: dims.to_vec(), periods: periods.iter().map(|&p| p != 0).collect() })
    }

    fn size(&self) -> u32 {
        self.dims.iter().product::<i32>() as u32
    }

    /// Coordinates of a rank; the last dimension varies fastest.
    fn coords(&self, rank: u32) -> Vec<i32> {
        let mut rest = rank as i32;
        let mut coords = vec![0; self.dims.len()];
        for (coord, &dim) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = rest % dim;
            rest /= dim;
        }
        coords
    }

    /// The rank at coordinates; `None` outside a dimension that is not periodic.
    fn rank(&self, coords: &[i32]) -> Option<u32> {
        let mut rank = 0;
        for ((&coord, &dim), &periodic) in coords.iter().zip(&self.dims).zip(&self.periods) {
            let inside = if periodic { coord.rem_euclid(dim) } else { coord };
            if !(0..dim).contains(&inside) {
                return None;
            }
            rank = rank * dim + inside;
        }
        Some(rank as u32)
    }

    /// The rank `displacement` places along a dimension.
    fn shifted(&self, rank: u32, dimension: usize, displacement: i32) -> Option<u32> {
        let mut coords = self.coords(rank);
        let dim = self.dims[dimension];
        let moved = i64::from(coords[dimension]) + i64::from(displacement);
        coords[dimension] = match self.periods[dimension] {
            true => moved.rem_euclid(i64::from(dim)) as i32,
            false => i32::try_from(moved).ok()?,
        };
        self.rank(&coords)
    }

    /// Each dimension's lower and upper neighbour.
    pub fn neighbours(&self, rank: u32) -> Neighbours {
        let both = (0..self.dims.len()).flat_map(|d| [self.shifted(rank, d, -1), self.shifted(rank, d, 1)]);
        let all: Vec<Option<u32>> = both.collect();
        Neighbours { sources: all.clone(), destinations: all }
    }
}

impl State {
    fn cart(&self, comm: abi::Comm) -> Result<&Cart> {
        match self.topology(comm)? {
            Topology::Cart(cart) => Ok(cart),
            _ => Err(Error::new(abi::ERR_TOPOLOGY, "the communicator's topology is not Cartesian")),
        }
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
        Cart::new(dims, periods, state.plain_comm(comm)?)?
    };
    *new = attach(t, comm, cart.size(), Topology::Cart(cart))?;
    Ok(())
}

/// `MPI_Cart_map`: the rank that `MPI_Cart_create` with `reorder` would give.
pub fn cart_map(t: &mut Token, comm: abi::Comm, dims: &[i32], periods: &[i32], rank: &mut i32) -> Result<()> {
    let state = t.lock();
    let cart = Cart::new(dims, periods, state.plain_comm(comm)?)?;
    let mine = state.comm(comm)?.rank;
    *rank = if mine < cart.size() { mine as i32 } else { abi::UNDEFINED };
    Ok(())
}

/// `MPI_Cartdim_get`
pub fn cartdim_get(t: &mut Token, comm: abi::Comm, ndims: &mut i32) -> Result<()> {
    *ndims = t.lock().cart(comm)?.dims.len() as i32;
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
    let cart = state.cart(comm)?;
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
    let cart = state.cart(comm)?;
    let found = cart.rank(coords.first(cart.dims.len())?);
    *rank = found.ok_or(Error::new(abi::ERR_ARG, "coordinates lie outside the grid"))? as i32;
    Ok(())
}

/// `MPI_Cart_coords`
pub fn cart_coords(t: &mut Token, comm: abi::Comm, rank: i32, coords: &mut [i32]) -> Result<()> {
    let state = t.lock();
    let cart = state.cart(comm)?;
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
    let cart = state.cart(comm)?;
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
        let cart = state.cart(comm)?;
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
    *new = crate::comm::split_by(t, comm, color, key)?;
    t.lock().comms.get_mut(*new)?.topology = Some(Topology::Cart(part));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Cart;

    fn grid(dims: &[i32], periods: &[bool]) -> Cart {
        Cart { dims: dims.to_vec(), periods: periods.to_vec() }
    }

    #[test]
    fn coordinates_and_ranks_are_inverse_in_row_major_order() {
        let cart = grid(&[2, 3, 4], &[false; 3]);
        assert_eq!(cart.coords(1), [0, 0, 1]);
        assert_eq!(cart.coords(23), [1, 2, 3]);
        for rank in 0..cart.size() {
            assert_eq!(cart.rank(&cart.coords(rank)), Some(rank));
        }
    }

    #[test]
    fn shifts_wrap_only_where_the_grid_is_periodic() {
        let cart = grid(&[3, 2], &[true, false]);
        assert_eq!(cart.shifted(0, 0, -1), Some(4));
        assert_eq!(cart.shifted(0, 0, 7), Some(2));
        assert_eq!(cart.shifted(0, 1, -1), None);
        assert_eq!(cart.shifted(0, 1, i32::MAX), None);
    }
}

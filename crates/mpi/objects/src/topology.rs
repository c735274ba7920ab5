//! Virtual topologies (MPI-5.0 chapter 8): what a communicator knows of its ranks' neighbours.

use abi::{Error, Result};
use ffi::Array;

/// The topology attached to a communicator.
#[derive(Clone, Debug)]
pub enum Topology {
    Cart(Cart),
    Graph(Graph),
    DistGraph(DistGraph),
}

/// The neighbours of a process, in the order in which neighbourhood collectives use them (MPI-5.0 section 8.6).
/// `None` stands for `MPI_PROC_NULL`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    pub sources: Vec<Option<u32>>,
    pub destinations: Vec<Option<u32>>,
}

impl Topology {
    /// The neighbours of `rank`. Only the calling process knows them in a distributed graph.
    pub fn neighbours(&self, rank: u32) -> Neighbours {
        match self {
            Topology::Cart(cart) => cart.neighbours(rank),
            Topology::Graph(graph) => {
                let all: Vec<Option<u32>> = graph.neighbours(rank).iter().map(|&n| Some(n as u32)).collect();
                Neighbours { sources: all.clone(), destinations: all }
            }
            Topology::DistGraph(graph) => graph.neighbours(),
        }
    }
}

/// A grid.
#[derive(Clone, Debug)]
pub struct Cart {
    pub dims: Vec<i32>,
    pub periods: Vec<bool>,
}

impl Cart {
    pub fn new(dims: &[i32], periods: &[i32], available: u32) -> Result<Cart> {
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

    pub fn size(&self) -> u32 {
        self.dims.iter().product::<i32>() as u32
    }

    /// Coordinates of a rank; the last dimension varies fastest.
    pub fn coords(&self, rank: u32) -> Vec<i32> {
        let mut rest = rank as i32;
        let mut coords = vec![0; self.dims.len()];
        for (coord, &dim) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = rest % dim;
            rest /= dim;
        }
        coords
    }

    /// The rank at coordinates; `None` outside a dimension that is not periodic.
    pub fn rank(&self, coords: &[i32]) -> Option<u32> {
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
    pub fn shifted(&self, rank: u32, dimension: usize, displacement: i32) -> Option<u32> {
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

/// A graph as `MPI_Graph_create` takes it: cumulated degrees and the concatenated neighbour lists.
#[derive(Clone, Debug)]
pub struct Graph {
    pub index: Vec<i32>,
    pub edges: Vec<i32>,
}

impl Graph {
    pub fn new(index: &[i32], edges: Array<'_, i32>, available: u32) -> Result<Graph> {
        let bad = |what| Error::new(abi::ERR_ARG, what);
        if index.len() > available as usize {
            return Err(bad("the graph has more nodes than the communicator processes"));
        }
        if index.first().is_some_and(|&first| first < 0) || index.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(bad("the cumulated degrees decrease"));
        }
        let edges = edges.first(index.last().map_or(0, |&last| last as usize))?;
        if edges.iter().any(|&edge| edge < 0 || edge as usize >= index.len()) {
            return Err(bad("an edge leads outside the graph"));
        }
        Ok(Graph { index: index.to_vec(), edges: edges.to_vec() })
    }

    /// The neighbour list of a node.
    pub fn neighbours(&self, rank: u32) -> &[i32] {
        let rank = rank as usize;
        let begin = if rank == 0 { 0 } else { self.index[rank - 1] };
        &self.edges[begin as usize..self.index[rank] as usize]
    }
}

/// The edges of the calling process.
#[derive(Clone, Debug, Default)]
pub struct DistGraph {
    pub incoming: Edges,
    pub outgoing: Edges,
    /// Whether both have weights.
    pub weighted: bool,
}

/// The other ends of edges.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    pub ranks: Vec<i32>,
    /// As many as ranks, or none.
    pub weights: Vec<i32>,
}

impl DistGraph {
    pub fn neighbours(&self) -> Neighbours {
        let of = |edges: &Edges| edges.ranks.iter().map(|&rank| u32::try_from(rank).ok()).collect();
        Neighbours { sources: of(&self.incoming), destinations: of(&self.outgoing) }
    }
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

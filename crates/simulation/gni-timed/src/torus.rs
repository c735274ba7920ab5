//! The torus of Gemini chips.
//!
//! ```text
//!   Gemini g = x + X·(y + Y·z)        node (PE) 2g and 2g + 1: two NICs on one chip, no link between them
//! ```

use gni::PeAddr;

/// A three-dimensional torus of Gemini chips, two nodes each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Torus {
    dims: [u32; 3],
}

/// A directed link: it leaves `gemini` along dimension `dim` (0 to 2: X, Y, Z), upwards or downwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Link {
    /// The chip it leaves.
    pub gemini: u32,
    /// Its dimension.
    pub dim: usize,
    /// Towards the larger coordinate (round the end: to 0).
    pub up: bool,
}

impl Torus {
    /// Cielo, the Cray XE6 of Los Alamos: 16 × 12 × 24 (Gutierrez et al. 2012, section VI.A).
    pub const CIELO: Torus = Torus { dims: [16, 12, 24] };

    /// A torus of these dimensions; `None` where one is 0 or a node would have no 18-bit address.
    pub fn new(dims: [u32; 3]) -> Option<Torus> {
        let geminis = dims.iter().try_fold(1u32, |product, &dim| product.checked_mul(dim))?;
        (geminis > 0 && geminis <= 1 << (gni::limits::PE_BITS - 1)).then_some(Torus { dims })
    }

    /// Chips along X, Y and Z.
    pub fn dims(&self) -> [u32; 3] {
        self.dims
    }

    /// Chips in all.
    pub fn geminis(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Nodes in all, two per chip.
    pub fn nodes(&self) -> u32 {
        2 * self.geminis()
    }

    /// The chip of a node.
    pub fn gemini_of(&self, pe: PeAddr) -> u32 {
        pe.0 / 2
    }

    fn coordinates(&self, gemini: u32) -> [u32; 3] {
        let [x, y, _] = self.dims;
        [gemini % x, gemini / x % y, gemini / (x * y)]
    }

    /// Links between two nodes; 0 on the same chip.
    pub fn hops(&self, from: PeAddr, to: PeAddr) -> u32 {
        let (from, to) = (self.coordinates(self.gemini_of(from)), self.coordinates(self.gemini_of(to)));
        (0..3).map(|dim| self.way(dim, from[dim], to[dim]).1).sum()
    }

    /// Direction (up) and links of the shorter way round one dimension; up where both are equal.
    fn way(&self, dim: usize, from: u32, to: u32) -> (bool, u32) {
        let size = self.dims[dim];
        let up = (to + size - from) % size;
        if up <= size - up { (true, up) } else { (false, size - up) }
    }

    /// The links from one node to another: first along X, then Y, then Z, each the shorter way round.
    pub fn route(&self, from: PeAddr, to: PeAddr) -> Route {
        self.route_in(from, to, ORDERS[0])
    }

    /// As [`Torus::route`], in another order of the dimensions.
    pub fn route_in(&self, from: PeAddr, to: PeAddr, order: [usize; 3]) -> Route {
        let at = self.coordinates(self.gemini_of(from));
        Route { torus: *self, at, to: self.coordinates(self.gemini_of(to)), order }
    }
}

/// The orders in which a route may take the dimensions; the first is that of [`Torus::route`].
pub const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The links still to go; see [`Torus::route`].
#[derive(Clone, Debug)]
pub struct Route {
    torus: Torus,
    at: [u32; 3],
    to: [u32; 3],
    order: [usize; 3],
}

impl Iterator for Route {
    type Item = Link;

    fn next(&mut self) -> Option<Link> {
        let dim = self.order.into_iter().find(|&dim| self.at[dim] != self.to[dim])?;
        let [x, y, _] = self.torus.dims;
        let gemini = self.at[0] + x * (self.at[1] + y * self.at[2]);
        let (up, _) = self.torus.way(dim, self.at[dim], self.to[dim]);
        let size = self.torus.dims[dim];
        let step = if up { 1 } else { size - 1 };
        self.at[dim] = (self.at[dim] + step) % size;
        Some(Link { gemini, dim, up })
    }
}

#[cfg(test)]
mod tests {
    use super::{Link, Torus};
    use gni::PeAddr;
    use proptest::prelude::*;

    #[test]
    fn cielo_is_26_hops_wide_and_13_on_average() {
        let torus = Torus::CIELO;
        assert_eq!((torus.geminis(), torus.nodes()), (4608, 9216));
        let hops: Vec<u32> =
            (0..torus.geminis()).map(|gemini| torus.hops(PeAddr(0), PeAddr(2 * gemini))).collect();
        assert_eq!(hops.iter().max(), Some(&26));
        let mean = f64::from(hops.iter().sum::<u32>()) / f64::from(torus.geminis());
        assert!((mean - 13.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn nodes_of_one_chip_have_no_link_between_them() {
        assert_eq!(Torus::CIELO.hops(PeAddr(6), PeAddr(7)), 0);
        assert_eq!(Torus::CIELO.route(PeAddr(6), PeAddr(7)).count(), 0);
    }

    #[test]
    fn the_way_round_the_end_is_taken_where_it_is_shorter() {
        let links: Vec<Link> = Torus::CIELO.route(PeAddr(0), PeAddr(2 * 15)).collect();
        assert_eq!(links, [Link { gemini: 0, dim: 0, up: false }]);
    }

    #[test]
    fn impossible_tori_are_refused() {
        assert_eq!(Torus::new([0, 1, 1]), None);
        assert_eq!(Torus::new([1 << 17, 2, 1]), None);
        assert_eq!(Torus::new([u32::MAX, u32::MAX, 2]), None);
    }

    proptest! {
        #[test]
        fn routes_are_minimal_and_lead_there(
            dims in [1..7u32, 1..7u32, 1..7u32], from in 0..1000u32, to in 0..1000u32, order in 0..6usize
        ) {
            let torus = Torus::new(dims).expect("a torus");
            let (from, to) = (PeAddr(from % torus.nodes()), PeAddr(to % torus.nodes()));
            let mut at = torus.coordinates(torus.gemini_of(from));
            let mut links = 0;
            for link in torus.route_in(from, to, super::ORDERS[order]) {
                prop_assert_eq!(torus.coordinates(link.gemini), at);
                let size = dims[link.dim];
                at[link.dim] = (at[link.dim] + if link.up { 1 } else { size - 1 }) % size;
                links += 1;
            }
            prop_assert_eq!(at, torus.coordinates(torus.gemini_of(to)));
            prop_assert_eq!(links, torus.hops(from, to));
            prop_assert_eq!(links, torus.hops(to, from));
        }
    }
}

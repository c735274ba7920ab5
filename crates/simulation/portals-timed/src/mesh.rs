//! Where nodes are.

/// A mesh of nodes in three dimensions, some of which may close to rings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mesh {
    /// Nodes along each dimension.
    pub size: [u32; 3],
    /// Which dimensions are rings.
    pub ring: [bool; 3],
}

impl Mesh {
    /// Red Storm: 27 x 16 x 24, a ring in the last dimension only.
    pub const RED_STORM: Mesh = Mesh { size: [27, 16, 24], ring: [false, false, true] };

    /// An XT4 of 24 x 24 x 20 nodes, about as many as Jaguar had, all rings.
    pub const XT4: Mesh = Mesh { size: [24, 24, 20], ring: [true; 3] };

    /// Nodes in all.
    pub fn nodes(&self) -> u32 {
        self.size.iter().product()
    }

    fn place(&self, node: u32) -> [u32; 3] {
        let [x, y, _] = self.size;
        [node % x, node / x % y, node / x / y]
    }

    /// Links between two nodes.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (self.place(from), self.place(to));
        let along = |dim: usize| {
            let straight = from[dim].abs_diff(to[dim]);
            if self.ring[dim] { straight.min(self.size[dim] - straight) } else { straight }
        };
        (0..3).map(along).sum()
    }

    /// Two nodes that are as far from each other as any.
    pub fn farthest(&self) -> (u32, u32) {
        let far = |dim: usize| if self.ring[dim] { self.size[dim] / 2 } else { self.size[dim] - 1 };
        let [x, y, _] = self.size;
        (0, far(0) + x * (far(1) + y * far(2)))
    }
}

#[cfg(test)]
mod tests {
    use super::Mesh;

    #[test]
    fn distances_on_red_storm() {
        let mesh = Mesh::RED_STORM;
        assert_eq!(mesh.nodes(), 10_368);
        assert_eq!((mesh.hops(0, 0), mesh.hops(0, 1), mesh.hops(0, 26)), (0, 1, 26));
        let (near, far) = mesh.farthest();
        assert_eq!(mesh.hops(near, far), 26 + 15 + 12);
        assert!((0..mesh.nodes()).all(|node| mesh.hops(0, node) <= 53));
        assert_eq!(Mesh::XT4.hops(0, 23), 1, "a ring");
    }
}

//! A machine and its costs.

use crate::seastar::system::{Software, System};
use portals_timed::{Costs, Mesh};

/// A machine with its costs.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name in tables.
    pub name: &'static str,
    /// Where nodes are.
    pub mesh: Mesh,
    /// What the network costs.
    pub costs: Costs,
    /// Ranks of an application on a node.
    pub cores: u32,
    /// Rate of copies in bytes per nanosecond.
    pub copy_rate: f64,
    pub(super) software: Vec<(System, Software)>,
}

impl Machine {
    /// A machine with the costs that sources give, and no time for the code of layers that none is known of.
    pub fn sourced(name: &'static str, mesh: Mesh) -> Machine {
        let software = vec![(System::Cm, Software::CM), (System::Ob1, Software::OB1)];
        Machine { name, mesh, costs: Costs::SOURCED, cores: 1, copy_rate: Software::COPY_RATE, software }
    }

    /// The same with other costs of the network; the code of layers stays.
    pub fn with(&self, costs: Costs) -> Machine {
        Machine { costs, ..self.clone() }
    }

    /// What a layer's own code costs.
    pub fn software(&self, system: System) -> Software {
        let known = self.software.iter().find(|(of, _)| *of == system);
        let known = known.map_or(Software::NONE, |(_, software)| *software);
        Software { copy_rate: self.copy_rate, ..known }
    }

    /// Two neighbouring nodes.
    pub(crate) const NEAR: [u32; 2] = [0, 1];

    /// Nodes for so many ranks, side by side.
    pub(crate) fn nodes(&self, ranks: u32) -> Vec<u32> {
        (0..ranks).map(|rank| rank / self.cores).collect()
    }
}

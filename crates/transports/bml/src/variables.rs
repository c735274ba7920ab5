//! Names, parameters and performance variables of the transports.

use btl::Join;
use btl_self::Loopback;
use btl_vader::{Vader, VaderParams};
use mca::{Param, Quantity, Variable};
use node::NodeParams;

use crate::slot::Slot;
use crate::{Bml, BtlParams};

macro_rules! parameters {
    (() $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        &[
            ("btl", BtlParams::PARAMS),
            ("btl_vader", VaderParams::PARAMS),
            ("btl_vader", NodeParams::PARAMS),
            $((concat!("btl_", $name), <$join as Join>::PARAMS)),*
        ]
    };
}

/// The parameters of the choice of transports and of each transport, by the beginning that their names share.
pub const PARAMS: &[(&str, &[Param])] = networks!(parameters());

macro_rules! abouts {
    (() $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        &[
            ("self", "messages of a rank to itself"),
            ("vader", "ranks of one node: fastboxes, receive queue, single and cooperative copy"),
            $(($name, <$join as Join>::ABOUT)),*
        ]
    };
}

/// The transports by their name in the parameter `btl`, and what each is.
pub const TRANSPORTS: &[(&str, &str)] = networks!(abouts());

/// A performance variable of the transports.
pub struct Count {
    /// Its name, which begins with that of its transport.
    pub name: &'static str,
    /// What it measures.
    pub quantity: Quantity,
    /// What it means, for users.
    pub description: &'static str,
    /// How it is read; 0 where the transport is not there.
    pub read: Box<dyn Fn(&Bml) -> u64 + Send + Sync>,
}

macro_rules! counts_of_networks {
    (($all:ident) $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        $($all.extend(of(<$join as Join>::VARIABLES, |bml| bml.$field.there()));)*
    };
}

/// The performance variables of all transports.
pub fn counts() -> Vec<Count> {
    let mut all: Vec<Count> = of::<Loopback>(btl_self::VARIABLES, |bml| Some(&bml.loopback)).collect();
    all.extend(of::<Vader>(btl_vader::VARIABLES, |bml| bml.vader.as_ref()));
    networks!(counts_of_networks(all));
    all
}

/// The variables of the transport that `there` finds.
fn of<T: 'static>(
    variables: &'static [Variable<T>],
    there: fn(&Bml) -> Option<&T>,
) -> impl Iterator<Item = Count> {
    variables.iter().map(move |&Variable { name, quantity, read, description }| Count {
        name,
        quantity,
        description,
        read: Box::new(move |bml| there(bml).map_or(0, read)),
    })
}

//! Descriptions of faults.

use core::fmt;

/// A fault description that cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadFault {
    /// The part in question.
    pub part: String,
    /// All names there are.
    pub names: &'static [&'static str],
}

impl fmt::Display for BadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "reading the description of NIC faults failed\n\
             seen: \"{}\"\n\
             write name=value pairs separated by commas, for instance \"seed=1,drop=0.01\"; names are {}",
            self.part,
            self.names.join(", ")
        )
    }
}

impl core::error::Error for BadFault {}

/// What a field of a plan can be.
pub trait Value: Sized {
    /// The value that `text` stands for.
    fn read(text: &str) -> Option<Self>;
}

impl Value for u64 {
    fn read(text: &str) -> Option<u64> {
        text.parse().ok()
    }
}

impl Value for u32 {
    fn read(text: &str) -> Option<u32> {
        text.parse().ok()
    }
}

/// A probability, 0 to 1.
impl Value for f64 {
    fn read(text: &str) -> Option<f64> {
        text.parse().ok().filter(|chance| (0.0..=1.0).contains(chance))
    }
}

/// Declares a plan of faults: its fields are the names of a description. A plan has a `seed` and is without faults by
/// default.
#[macro_export]
macro_rules! plan {
    (
        $(#[$about:meta])*
        pub struct $plan:ident {
            $($(#[$doc:meta])* $name:ident: $kind:ty,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $plan {
            /// Seed of the choices: the same plan and the same calls give the same faults.
            pub seed: u64,
            $($(#[$doc])* pub $name: $kind,)+
        }

        impl $plan {
            const NAMES: &[&str] = &["seed", $(stringify!($name)),+];

            /// Reads `name=value,…` with the names of the fields; an empty text is a plan without faults.
            ///
            /// # Errors
            /// [`chance::BadFault`]($crate::BadFault) for an unknown name, a value that is no number, or a probability
            /// outside 0 to 1.
            pub fn parse(text: &str) -> Result<$plan, $crate::BadFault> {
                let mut plan = $plan::default();
                for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
                    let bad = || $crate::BadFault { part: part.to_owned(), names: $plan::NAMES };
                    plan.set(part).ok_or_else(bad)?;
                }
                Ok(plan)
            }

            fn set(&mut self, part: &str) -> Option<()> {
                let (name, value) = part.split_once('=')?;
                let value = value.trim();
                match name.trim() {
                    "seed" => self.seed = $crate::Value::read(value)?,
                    $(stringify!($name) => self.$name = $crate::Value::read(value)?,)+
                    _ => return None,
                }
                Some(())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    crate::plan! {
        /// For these tests.
        pub struct Plan {
            /// A chance.
            drop: f64,
            /// A count.
            mdds: u32,
        }
    }

    #[test]
    fn a_description_sets_what_it_names() {
        let plan = Plan::parse("seed=7, drop=0.01,mdds=8").expect("valid");
        assert_eq!(plan, Plan { seed: 7, drop: 0.01, mdds: 8 });
        assert_eq!(Plan::parse(""), Ok(Plan::default()));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for bad in ["drop=2", "drop", "colour=1", "mdds=-1"] {
            let error = Plan::parse(&format!("seed=1,{bad}")).expect_err(bad);
            assert_eq!(error.part, bad);
            assert!(error.to_string().ends_with("seed, drop, mdds"));
        }
    }
}

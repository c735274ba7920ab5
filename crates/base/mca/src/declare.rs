//! The two declaration macros.

/// Declares a crate's parameters: a struct with one field per parameter, its table and its reader.
///
/// The struct gets `PARAMS` (the table, for the [`Registry`](crate::Registry)), `read` (values as the user
/// set them) and `Default` (values as declared). Each line is
/// `name: Type = "default" [, unit "…"] [, range LOW to HIGH] [, scope S] [, level L] [, alias "…"]*;`
/// where the full name is the struct's prefix followed by `name`, and the default is written the way a user
/// would write it. See the [crate's example](crate).
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($prefix:literal) {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $kind:ty = $default:literal
                    $(, unit $unit:literal)?
                    $(, range $low:literal to $high:literal)?
                    $(, scope $scope:ident)?
                    $(, level $level:ident)?
                    $(, alias $alias:literal)*
                ;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $(
                $(#[doc = $doc])+
                pub $field: <$kind as $crate::Type>::Value,
            )*
        }

        impl $name {
            /// The declarations, in the order of the fields.
            #[allow(clippy::needless_update)] // a declaration that gives every option leaves nothing blank
            pub const PARAMS: &'static [$crate::Param] = &[$(
                $crate::Param {
                    name: concat!($prefix, stringify!($field)),
                    kind: <$kind as $crate::Type>::KIND,
                    default: $default,
                    doc: concat!($($doc, "\n"),+),
                    $(unit: $unit,)?
                    $(range: Some($crate::Range { low: $low, high: $high }),)?
                    $(scope: $crate::Scope::$scope,)?
                    $(level: $crate::Level::$level,)?
                    aliases: &[$($alias),*],
                    ..$crate::Param::BLANK
                },
            )*];

            /// Reads all of them; the first value that does not fit its declaration is the error.
            pub fn read(values: &$crate::Values) -> Result<Self, $crate::BadValue> {
                let mut params = Self::PARAMS.iter();
                Ok(Self {
                    $($field: {
                        let param = params.next().expect("one row per field");
                        values.read::<$kind>(param)?
                    },)*
                })
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::read(&$crate::Values::default()).expect("declared defaults fit their declarations")
            }
        }
    };
}

/// Declares an enum whose variants are the words a parameter accepts.
///
/// ```
/// mca::choice! {
///     /// How a large message crosses to a process on the same node.
///     pub enum SingleCopy { Auto = "auto", Cma = "cma", Off = "none" }
/// }
/// mca::params! {
///     /// Example.
///     pub struct Params("btl_vader_") {
///         /// Mechanism for a single copy.
///         single_copy: SingleCopy = "auto";
///     }
/// }
/// assert_eq!(Params::default().single_copy, SingleCopy::Auto);
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$vmeta])* #[doc = concat!("`", $word, "`")] $variant,)+
        }

        impl $crate::Type for $name {
            type Value = Self;
            const KIND: $crate::Kind = $crate::Kind::Choice(&[$($word),+]);
            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

//! Recursive doubling and halving for sizes that are no power of two.

/// The first `2·rem` indices pair up, `rem` being what exceeds the largest power of two: the even one of a
/// pair hands its part to the odd one and waits. What remains is a power of two *in rank order*: each core
/// index stands for a run of ranks that continues its predecessor's, so ordered operations stay ordered.
///
/// ```text
///  size 6:  ranks 0 1 2 3 4 5        core indices    0     1    2   3
///                 └→1 └→3                            {0,1} {2,3} {4} {5}
/// ```
#[derive(Clone, Copy)]
pub(crate) struct Fold {
    pub(crate) power: u32,
    rem: u32,
}

/// What an index does.
pub(crate) enum Role {
    /// Hands over to `partner`, its right neighbour.
    Extra { partner: u32 },
    /// Takes part as core `index`, also for `extra`, its left neighbour.
    Core { index: u32, extra: Option<u32> },
}

impl Fold {
    pub(crate) fn new(size: u32) -> Fold {
        let power = 1 << size.ilog2();
        Fold { power, rem: size - power }
    }

    pub(crate) fn role(&self, me: u32) -> Role {
        if me >= 2 * self.rem {
            Role::Core { index: me - self.rem, extra: None }
        } else if me.is_multiple_of(2) {
            Role::Extra { partner: me + 1 }
        } else {
            Role::Core { index: me / 2, extra: Some(me - 1) }
        }
    }

    /// The core index of a rank that has one.
    pub(crate) fn index_of(&self, rank: u32) -> u32 {
        if rank < 2 * self.rem { rank / 2 } else { rank - self.rem }
    }

    /// The rank that acts as core `index`.
    pub(crate) fn rank(&self, index: u32) -> u32 {
        if index < self.rem { 2 * index + 1 } else { index + self.rem }
    }

    /// The first rank that core `index` stands for; `index` may be one past the last.
    pub(crate) fn first(&self, index: u32) -> u32 {
        if index < self.rem { 2 * index } else { index + self.rem }
    }

    /// 1, 2, 4, … below the power of two.
    pub(crate) fn masks(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        (0..self.power.ilog2()).map(|k| 1 << k)
    }
}

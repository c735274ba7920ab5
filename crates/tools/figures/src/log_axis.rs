//! A logarithmic axis whose ticks are where people look for them.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// Where labels stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticks {
    /// 1, 2, 4, …, or every few of them.
    PowersOfTwo,
    /// 0.1, 1, 10, …; with 2 and 5 between them on a short axis.
    Decades,
}

/// Most labels that fit side by side.
const LABELS: i32 = 12;

/// A logarithmic axis.
#[derive(Clone, Debug)]
pub struct LogAxis {
    low: f64,
    high: f64,
    ticks: Ticks,
}

impl LogAxis {
    /// An axis that holds these values, all above 0, with a little room at both ends.
    pub fn around(values: impl Iterator<Item = f64>, ticks: Ticks) -> Self {
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let room = match ticks {
            Ticks::PowersOfTwo => 1.2,
            Ticks::Decades => 1.6,
        };
        Self { low: low / room, high: high * room, ticks }
    }

    /// How far along the axis a value lies, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Those of `mantissas` times a power of ten that lie on the axis.
    fn decimal(&self, mantissas: &[f64]) -> Vec<f64> {
        let exponents = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = exponents.flat_map(|exponent| mantissas.iter().map(move |m| m * 10f64.powi(exponent)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }

    fn powers_of_two(&self) -> Vec<f64> {
        let (first, last) = (self.low.log2().ceil() as i32, self.high.log2().floor() as i32);
        let step = (last - first) / LABELS + 1;
        (first..=last).filter(|exponent| exponent % step == 0).map(|exponent| 2f64.powi(exponent)).collect()
    }
}

impl Ranged for LogAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.share(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let with_light_lines = hint.weight().allow_light_points();
        match self.ticks {
            Ticks::PowersOfTwo => self.powers_of_two(),
            Ticks::Decades if with_light_lines => {
                self.decimal(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
            }
            Ticks::Decades if self.high / self.low < 1000.0 => self.decimal(&[1.0, 2.0, 5.0]),
            Ticks::Decades => self.decimal(&[1.0]),
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::coord::ranged1d::BoldPoints;

    #[test]
    fn sizes_get_few_powers_of_two() {
        let axis = LogAxis::around([1.0, 8388608.0].into_iter(), Ticks::PowersOfTwo);
        let ticks = axis.key_points(BoldPoints(0));
        assert_eq!(&ticks[..3], [1.0, 4.0, 16.0]);
        assert!(ticks.len() <= 13);
    }

    #[test]
    fn short_axes_get_more_ticks() {
        let short = LogAxis::around([2.0, 40.0].into_iter(), Ticks::Decades);
        assert_eq!(short.key_points(BoldPoints(0)), [2.0, 5.0, 10.0, 20.0, 50.0]);
        let long = LogAxis::around([0.2, 900.0].into_iter(), Ticks::Decades);
        assert_eq!(long.key_points(BoldPoints(0)), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn the_ends_map_to_the_ends() {
        let axis = LogAxis::around([1.0, 100.0].into_iter(), Ticks::Decades);
        assert_eq!(axis.map(&axis.low, (10, 110)), 10);
        assert_eq!(axis.map(&axis.high, (10, 110)), 110);
        assert_eq!(axis.map(&10.0, (0, 100)), 50);
    }
}

//! The time that an acknowledgement takes on a path (RFC 6298).

use crate::config::Time;

/// Estimate of the round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    smoothed: Option<Time>,
    variation: Time,
    /// Follows short times at once, and longer ones slowly: what the network needs, where peers compute now and then.
    quick: Option<Time>,
}

impl Rtt {
    /// Takes a measured time, of a frame of which is known which of its departures was acknowledged (Karn's rule).
    pub(crate) fn sample(&mut self, time: Time) {
        self.quick =
            Some(self.quick.map_or(time, |quick| (quick + time.saturating_sub(quick) / 8).min(time)));
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(time);
            self.variation = time / 2;
            return;
        };
        self.variation = (3 * self.variation + smoothed.abs_diff(time)) / 4;
        self.smoothed = Some((7 * smoothed + time) / 8);
    }

    /// The time without what peers compute, once there is one.
    pub(crate) fn quick(&self) -> Option<Time> {
        self.quick
    }

    /// How long to wait for an acknowledgement, between the two bounds.
    pub(crate) fn wait(&self, shortest: Time, longest: Time) -> Time {
        let wait = self.smoothed.map_or(shortest, |smoothed| smoothed + 4 * self.variation);
        wait.clamp(shortest, longest.max(shortest))
    }
}

#[cfg(test)]
mod tests {
    use super::Rtt;

    #[test]
    fn it_follows_what_is_measured_and_stays_in_its_bounds() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.wait(20, 1000), 20);
        rtt.sample(100);
        assert_eq!(rtt.wait(20, 1000), 300);
        for _ in 0..100 {
            rtt.sample(100);
        }
        assert!(rtt.wait(20, 1000) < 110 && rtt.quick() == Some(100));
        rtt.sample(100_000);
        assert_eq!((rtt.wait(20, 1000), rtt.quick()), (1000, Some(100 + 99_900 / 8)));
        rtt.sample(50);
        assert_eq!(rtt.quick(), Some(50));
    }
}

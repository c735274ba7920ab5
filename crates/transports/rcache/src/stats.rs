//! What a cache has done.

/// Counts since the cache was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Acquisitions that found a registration.
    pub hits: u64,
    /// Acquisitions that had to register.
    pub misses: u64,
    /// Of these, registrations that could not be kept because the memory is not watched.
    pub unwatched: u64,
    /// Registrations given up to make room.
    pub evictions: u64,
    /// Registrations whose memory was unmapped, moved or given back.
    pub invalidations: u64,
    /// Registrations given up because a larger one covers them.
    pub superseded: u64,
    /// Registrations that exist now.
    pub registrations: u64,
    /// Most that existed at one time.
    pub registrations_peak: u64,
    /// Bytes registered now.
    pub bytes: u64,
}

impl Stats {
    /// Hits among all acquisitions, from 0 to 1.
    pub fn hit_rate(&self) -> f64 {
        match self.hits + self.misses {
            0 => 0.0,
            all => self.hits as f64 / all as f64,
        }
    }
}

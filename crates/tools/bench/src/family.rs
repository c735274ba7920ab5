//! Kinds of launchers.

/// Launchers that take the same arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Alhena,
    OpenMpi,
    Mpich,
    Other,
}

impl Family {
    /// The kind of a launcher that gives this as its version.
    pub fn of(version: &str) -> Self {
        if version.contains("Alhena") {
            Family::Alhena
        } else if version.contains("Open MPI") || version.contains("OpenRTE") || version.contains("PRRTE") {
            Family::OpenMpi
        } else if version.contains("HYDRA") || version.contains("MPICH") {
            Family::Mpich
        } else {
            Family::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_known_by_what_their_launcher_says() {
        assert_eq!(Family::of("mpiexec (Open MPI) 5.0.11\n\nReport bugs"), Family::OpenMpi);
        assert_eq!(Family::of("HYDRA build details:\n    Version:   5.0.2\n"), Family::Mpich);
        assert_eq!(Family::of("mpiexec (Alhena) 0.2.0"), Family::Alhena);
    }
}

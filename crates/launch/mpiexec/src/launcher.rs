//! What starts daemons on other hosts.

use std::env;

use rte::spec::Launcher;

/// What was set for it, by flags, parameters of Open MPI or variables.
#[derive(Clone, Debug, Default)]
pub struct LauncherOptions {
    /// `-launcher`: a name that launchers of the MPICH family know, or a program.
    pub name: Option<String>,
    /// `-launcher-exec`, `plm_rsh_agent`: a program with its first arguments; Open MPI's lists of several are separated by
    /// colons, and the first one counts.
    pub program: Option<String>,
    /// Further arguments of the program.
    pub arguments: Option<String>,
}

/// A batch system's own way to start a process on a host of an allocation, where ssh is often forbidden.
struct Batch {
    /// Names by which `-launcher` knows it.
    names: [&'static str; 2],
    /// Set within an allocation.
    variable: &'static str,
    /// The program with its arguments; the host and the command follow.
    words: &'static str,
}

const BATCH: &[Batch] = &[
    Batch {
        names: ["slurm", "srun"],
        variable: "SLURM_JOB_ID",
        // Beside other steps, with all processors of the host: mpiexec binds ranks itself.
        words: "srun -Q --overlap --mpi=none --cpu-bind=none --nodes=1 --ntasks=1 -w",
    },
    Batch { names: ["sge", "qrsh"], variable: "PE_HOSTFILE", words: "qrsh -inherit" },
    Batch { names: ["lsf", "blaunch"], variable: "LSB_DJOB_HOSTFILE", words: "blaunch" },
];

impl LauncherOptions {
    /// The launcher. Where nothing was set: the batch system's within an allocation, else ssh.
    pub fn settle(&self) -> Launcher {
        self.settle_in(|name| env::var_os(name).is_some(), is_in_path)
    }

    fn settle_in(&self, is_set: impl Fn(&str) -> bool, is_there: impl Fn(&str) -> bool) -> Launcher {
        let usual = Launcher::default();
        let said = self.program.as_deref().or(self.name.as_deref());
        let batch = BATCH.iter().find(|batch| match (&self.program, &self.name) {
            (Some(_), _) => false,
            (None, Some(name)) => batch.names.contains(&name.as_str()),
            (None, None) => is_set(batch.variable) && is_there(batch.names[1]),
        });
        let program = batch.map(|batch| batch.words).or(said).unwrap_or("ssh");
        let first = program.split(" : ").next().unwrap_or(program);
        let mut words: Vec<String> = first.split_whitespace().map(str::to_owned).collect();
        // The flags are ssh's; a program of another name gets those that were set and no others.
        let is_ssh = words.len() == 1 && (words[0] == "ssh" || words[0].ends_with("/ssh"));
        if is_ssh {
            words.extend(usual.words[1..].iter().cloned());
        }
        // The host comes behind the last word.
        let at = words.len() - usize::from(words.last().is_some_and(|last| last == "-w"));
        let arguments = self.arguments.as_deref().unwrap_or("").split_whitespace().map(str::to_owned);
        words.splice(at..at, arguments);
        Launcher { words, ..usual }
    }
}

fn is_in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(name: Option<&str>, program: Option<&str>, arguments: Option<&str>) -> LauncherOptions {
        let own = |text: Option<&str>| text.map(str::to_owned);
        LauncherOptions { name: own(name), program: own(program), arguments: own(arguments) }
    }

    fn words(name: Option<&str>, program: Option<&str>, arguments: Option<&str>) -> String {
        options(name, program, arguments).settle_in(|_| false, |_| false).words.join(" ")
    }

    #[test]
    fn batch_systems_start_processes_in_their_own_way() {
        let first = |options: LauncherOptions, set: &str, there: &str| {
            options.settle_in(|name| name == set, |name| name == there).words[0].clone()
        };
        let unsaid = || options(None, None, None);
        assert_eq!(first(unsaid(), "SLURM_JOB_ID", "srun"), "srun");
        assert_eq!(first(unsaid(), "SLURM_JOB_ID", ""), "ssh");
        assert_eq!(first(unsaid(), "PE_HOSTFILE", "qrsh"), "qrsh");
        assert_eq!(first(options(Some("ssh"), None, None), "SLURM_JOB_ID", "srun"), "ssh");
        assert_eq!(first(options(Some("slurm"), Some("stub"), None), "", ""), "stub");
        assert!(words(Some("slurm"), None, Some("-v")).starts_with("srun -Q --overlap"));
        assert!(words(Some("slurm"), None, Some("--x")).ends_with("-w"));
    }

    #[test]
    fn ssh_gets_its_flags_and_others_get_theirs() {
        assert_eq!(words(None, None, None), "ssh -x -T -o BatchMode=yes");
        assert_eq!(words(Some("rsh"), None, None), "rsh");
        assert_eq!(
            words(Some("ssh"), Some("/opt/ssh"), Some("-p 2222")),
            "/opt/ssh -x -T -o BatchMode=yes -p 2222"
        );
        assert_eq!(words(None, Some("ssh : rsh"), None), "ssh -x -T -o BatchMode=yes");
        assert_eq!(words(None, Some("kubectl exec -i"), None), "kubectl exec -i");
    }
}

//! What starts daemons on other hosts.

use rte::spec::Launcher;

/// What was said about it, by flags, parameters of Open MPI or variables.
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

impl LauncherOptions {
    /// The launcher; ssh unless something else was said.
    pub fn settle(&self) -> Launcher {
        let usual = Launcher::default();
        let program = self.program.as_deref().or(self.name.as_deref()).unwrap_or("ssh");
        let first = program.split(" : ").next().unwrap_or(program);
        let mut words: Vec<String> = first.split_whitespace().map(str::to_owned).collect();
        // The flags are ssh's; a program of another name gets those that were said and no others.
        let is_ssh = words.len() == 1 && (words[0] == "ssh" || words[0].ends_with("/ssh"));
        if is_ssh {
            words.extend(usual.words[1..].iter().cloned());
        }
        words.extend(self.arguments.as_deref().unwrap_or("").split_whitespace().map(str::to_owned));
        Launcher { words, ..usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: Option<&str>, program: Option<&str>, arguments: Option<&str>) -> String {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let options = LauncherOptions { name: own(name), program: own(program), arguments: own(arguments) };
        options.settle().words.join(" ")
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

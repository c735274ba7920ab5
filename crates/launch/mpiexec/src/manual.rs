//! The manual page `mpiexec.1`, from the same table of flags as `-help`.

use std::fmt::Write;

use crate::flags::TOPICS;
use crate::help::space;

/// The page, in the language of `man`.
pub fn page() -> String {
    let mut text = String::from(
        ".TH MPIEXEC 1 \"\" Alhena \"User commands\"\n\
         .SH NAME\nmpiexec, mpirun \\- start the ranks of an MPI job\n\
         .SH SYNOPSIS\n.B mpiexec\n[flags] program [arguments] [: [flags] program [arguments]]...\n\
         .SH DESCRIPTION\nStarts the ranks of an MPI job, here or on the hosts named, forwards what they read and write, and ends \
         all of them when one fails. Flags may have one or two dashes; those of Open MPI and MPICH are understood. Settings \
         before the first program hold for the whole job, unless a flag speaks of the program that follows.\n",
    );
    for (topic, flags) in TOPICS {
        let _ = writeln!(text, ".SH {}", topic.to_uppercase());
        for flag in flags {
            let names: Vec<String> =
                flag.names.iter().map(|name| format!("\\fB\\-{}\\fR", escape(name))).collect();
            let values: Vec<String> = flag
                .values
                .iter()
                .map(|value| format!("{}\\fI{}\\fR", space(value), escape(value)))
                .collect();
            let _ = writeln!(text, ".TP\n{}{}\n{}", names.join(", "), values.concat(), escape(flag.help));
        }
    }
    text.push_str(
        ".SH EXIT STATUS\nThat of the first rank that failed, 128 + signal where a signal ended it, 0 if none failed. 124: the \
         time of \\-timeout was over. 126, 127: a program cannot be executed, does not exist. 2: the command line makes no \
         sense. 1: the launcher failed, or output was lost.\n\
         .SH EXAMPLES\n.nf\nmpiexec \\-n 4 ./program\nmpiexec \\-n 1 ./server : \\-n 3 ./client\nmpiexec \\-hosts a,b \\-n 8 \
         ./program\n.fi\n.SH SEE ALSO\n.BR mpicc (1),\n.BR alhena (1),\n.BR alhena-doctor (1)\n",
    );
    text
}

fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A line that begins with a dot or a quote would be a command.
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_its_entry() {
        let page = page();
        let flags = TOPICS.iter().flat_map(|(_, flags)| flags.iter());
        assert_eq!(page.lines().filter(|line| *line == ".TP").count(), flags.count());
        assert!(page.contains("\\fB\\-bind\\-to\\fR \\fIUNIT\\fR"), "{page}");
    }
}

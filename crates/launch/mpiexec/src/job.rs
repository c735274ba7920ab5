//! From wishes to a job.

use hardware::Unit;
use placement::Map;
use rte::HostName;
use rte::spec::{self, App, Environment, JobSpec, Verbosity};

use crate::command_line::{CommandLine, Program};
use crate::hosts::Host;
use crate::options::{JobOptions, Universe};
use crate::rankfile::RankFile;
use crate::search_path::{prepend, put_before};
use crate::spread::{Spread, Wanted};
use crate::tools::Tools;
use crate::usage::{MOST_RANKS, UsageError};
use crate::{allocation, dialects, hosts, parameters, variables};

/// A job, and what is to be printed before it starts.
pub struct Planned {
    /// The job.
    pub spec: JobSpec,
    /// Remarks, one line each.
    pub notes: Vec<String>,
    /// Tools that look at its calls.
    pub tools: Tools,
}

/// Turns a command line into a job.
pub fn plan(line: CommandLine) -> Result<Planned, UsageError> {
    let CommandLine { mut job, programs } = line;
    let named: Vec<Host> = programs.iter().flat_map(|program| program.options.hosts.clone()).collect();
    if job.listen.is_some() && !(named.is_empty() && job.hosts.is_empty()) {
        let seen = "-listen, whose hosts are the workers that call, and -hosts or -hostfile".to_owned();
        return Err(UsageError::Contradiction { seen });
    }
    variables::fill_in(&mut job)?;
    if job.hosts.is_empty()
        && named.is_empty()
        && job.listen.is_none()
        && let Some(allocation) = allocation::find()?
    {
        job.allocated_by = Some(allocation.variable);
        job.hosts = allocation.hosts;
    }
    if let (Some(file), true) = (&job.rank_file, job.hosts.is_empty() && named.is_empty()) {
        job.hosts = file.hosts();
    }
    job.hosts = hosts::joined(&job.hosts, &named);
    if let Some(Map { unit: Unit::Host, per_object: Some(count), .. }) = job.placement.map {
        job.per_host.get_or_insert(count);
    }
    let notes = notes(&mut job);
    if job.tools.check.is_some() {
        // The library compares all that it can of collective calls.
        parameters::set_by_default(&mut job, "coll_check", "full");
    }
    let counts: Vec<u32> = programs.iter().map(|program| count(program, &job, programs.len())).collect();
    let listen = listen(&mut job, size(&counts)?)?;
    let wanted: Vec<Wanted> =
        programs.iter().zip(&counts).map(|(program, &count)| wanted(program, &job, count)).collect();
    let hosts = job.hosts.clone();
    let launcher = job.launcher.settle();
    let host_of = place(&mut job, &wanted)?;
    check_slots(&job, &wanted)?;
    let elsewhere = listen.is_some() || hosts.iter().any(|host| !host.is_local());
    let first = programs.first().map(|program| program.program.clone()).unwrap_or_default();
    let tools = Tools::new(&job.tools, size(&counts)?, &first)?;
    let universe = universe(&job, &hosts, size(&counts)?);
    let programs = programs.into_iter().zip(counts.iter().copied());
    let apps: Vec<App> = programs.map(|(program, count)| app(program, &job, count, &tools)).collect();
    let (spec_hosts, host_of) = match elsewhere {
        true => with_ranks(hosts.iter().map(spec_host).collect(), &host_of),
        // A debugger stops mpiexec: ranks wait in MPI_Init for that only where a daemon of theirs asks mpiexec for the key space.
        false if rte::is_debugged() => (vec![this_host()], vec![0; size(&counts)? as usize]),
        false => (Vec::new(), Vec::new()),
    };
    let usual = JobSpec::new(apps, btl_vader::segment_bytes);
    let spec = JobSpec {
        tables: tools.tables(),
        hosts: spec_hosts,
        host_of,
        allocated_by: job.allocated_by,
        launcher,
        listen,
        universe_size: universe,
        placement: job.placement.clone(),
        report_bindings: job.report_bindings,
        display_map: job.display_map,
        output: job.output,
        stdin: job.stdin,
        timeout: job.timeout,
        host_silence: job.host_silence.unwrap_or(usual.host_silence),
        stack_traces: job.stack_traces,
        stacks_on_crash: job.stacks_on_crash,
        cleanup: job.cleanup,
        survives: job.survives,
        print_exit_codes: job.print_exit_codes,
        verbosity: job.verbosity,
        ..usual
    };
    Ok(Planned { spec, notes, tools })
}

/// `MPI_UNIVERSE_SIZE`: what is asked for, else how many processes the hosts have room for, and no fewer than there are.
fn universe(job: &JobOptions, hosts: &[Host], ranks: u32) -> Option<u32> {
    match job.universe {
        Some(Universe::Unset) => None,
        Some(Universe::Size(size)) => Some(size),
        None => {
            let processors = job.placement.allowed().len() as u32;
            // How many processors another host has is not known here.
            let own = |host: &Host| if host.is_local() { processors } else { 1 };
            let slots = hosts.iter().map(|host| host.slots.unwrap_or_else(|| own(host)));
            let all = if hosts.is_empty() { processors } else { slots.fold(0, u32::saturating_add) };
            Some(all.max(ranks))
        }
    }
}

/// Ranks of the whole job. Numbers of the command line, of files and variables become sizes behind this.
fn size(counts: &[u32]) -> Result<u32, UsageError> {
    match counts.iter().copied().fold(0, u32::saturating_add) {
        ranks @ 1..=MOST_RANKS => Ok(ranks),
        ranks => Err(UsageError::Size { ranks }),
    }
}

/// What `-listen` asks for. The hosts are then workers, with `-ppn` ranks each.
fn listen(job: &mut JobOptions, ranks: u32) -> Result<Option<spec::Listen>, UsageError> {
    let Some(port) = job.listen else { return Ok(None) };
    let Some(token_file) = job.token_file.clone() else {
        let seen = "-listen without -token-file, so that no worker could prove who it is".to_owned();
        return Err(UsageError::Contradiction { seen });
    };
    let each = *job.per_host.get_or_insert(1);
    let worker = |number| {
        let source = "-listen".to_owned();
        let name = HostName::new(&format!("worker-{number}"));
        let name = name.map_err(|name| UsageError::BadHost { source, name })?;
        Ok(Host { name, slots: None, strict: false })
    };
    job.hosts = (0..ranks.div_ceil(each)).map(worker).collect::<Result<_, _>>()?;
    Ok(Some(spec::Listen { port, token_file }))
}

/// The hosts that have ranks, in their order, and the place of each rank's host among them. None if it is this one alone.
fn with_ranks(hosts: Vec<spec::Host>, host_of: &[u32]) -> (Vec<spec::Host>, Vec<u32>) {
    let mut places = vec![None; hosts.len()];
    let mut used = Vec::new();
    let mut has_ranks = vec![false; hosts.len()];
    host_of.iter().for_each(|&host| has_ranks[host as usize] = true);
    for (index, host) in hosts.into_iter().enumerate() {
        if has_ranks[index] {
            places[index] = Some(used.len() as u32);
            used.push(host);
        }
    }
    if used.iter().all(|host| host.local) {
        return (Vec::new(), Vec::new());
    }
    let host_of = host_of.iter().filter_map(|&host| places[host as usize]).collect();
    (used, host_of)
}

/// What `program` asks for on the hosts of the job. A host that it names without slots has those of the job's file.
fn wanted(program: &Program, job: &JobOptions, count: u32) -> Wanted {
    let own = hosts::merged(&program.options.hosts);
    let place = |host: &Host| {
        let at = job.hosts.iter().position(|other| other.is_same(host))?;
        Some((at as u32, host.slots.or(job.hosts[at].slots)))
    };
    let own: Vec<_> = own.iter().filter_map(place).collect();
    Wanted { count, hosts: (!own.is_empty()).then_some(own) }
}

/// The host of each rank. A rank file names their processors, too.
fn place(job: &mut JobOptions, programs: &[Wanted]) -> Result<Vec<u32>, UsageError> {
    let Some(file) = &job.rank_file else {
        return Ok(Spread::new(job).ranks(programs));
    };
    if job.placement.map.is_some() || job.per_host.is_some_and(|_| job.listen.is_none()) {
        let seen = "a rank file and -map-by or -ppn".to_owned();
        return Err(UsageError::Contradiction { seen });
    }
    let (host_of, slots) = file.place(programs.iter().map(|program| program.count).sum(), &job.hosts)?;
    let wishes =
        programs.iter().flat_map(|program| std::iter::repeat_n(&program.hosts, program.count as usize));
    for (rank, (own, &host)) in wishes.zip(&host_of).enumerate() {
        if own.as_ref().is_some_and(|own| own.iter().all(|&(other, _)| other != host)) {
            let name = &job.hosts[host as usize].name;
            let seen =
                format!("a rank file that has rank {rank} on {name}, and -hosts of its program without it");
            return Err(UsageError::Contradiction { seen });
        }
    }
    job.placement.by_file = slots;
    Ok(host_of)
}

/// The host that mpiexec is on.
fn this_host() -> spec::Host {
    let name = HostName::new(&hosts::own_name()).or_else(|_| HostName::new("localhost"));
    let name = name.expect("that is a name of a host");
    spec::Host { name, local: true }
}

fn spec_host(host: &Host) -> spec::Host {
    spec::Host { name: host.name.clone(), local: host.is_local() }
}

/// Ranks of `program`, one of so many. Without `-n` it has as many as its hosts have slots, or the job's hosts where it is the
/// only one.
fn count(program: &Program, job: &JobOptions, programs: usize) -> u32 {
    if let Some(count) = program.options.count {
        return count;
    }
    let own = hosts::joined(&program.options.hosts, &[]);
    let hosts = match own.is_empty() {
        true if programs > 1 => return 1,
        true => &job.hosts,
        false => &own,
    };
    let count = hosts.len().max(1) as u32;
    let slots = hosts::slots(hosts).map(|(slots, _)| slots);
    let on_each = job.per_host.or(job.placement.ranks_by_ppr()).map(|ranks| ranks.saturating_mul(count));
    let by_file = job.rank_file.as_ref().filter(|_| programs == 1).map(RankFile::count);
    by_file.or(on_each).or(slots).unwrap_or(count)
}

/// Host files set limits; a bare `host:N` only sets where to put how many.
fn check_slots(job: &JobOptions, programs: &[Wanted]) -> Result<(), UsageError> {
    let refuses = |strict: bool| match job.placement.oversubscribe {
        Some(allowed) => !allowed,
        None => strict,
    };
    let ranks: u32 = programs.iter().map(|program| program.count).sum();
    if let Some((slots, strict)) = hosts::slots(&job.hosts)
        && ranks > slots
        && refuses(strict)
    {
        return Err(UsageError::Slots { ranks, slots });
    }
    for Wanted { count, hosts } in programs {
        let Some(hosts) = hosts else { continue };
        let strict = hosts.iter().any(|&(host, _)| job.hosts[host as usize].strict);
        match hosts.iter().try_fold(0, |sum: u32, &(_, slots)| Some(sum.saturating_add(slots?))) {
            Some(slots) if *count > slots && refuses(strict) => {
                return Err(UsageError::Slots { ranks: *count, slots });
            }
            _ => {}
        }
    }
    Ok(())
}

fn app(program: Program, job: &JobOptions, count: u32, tools: &Tools) -> App {
    let mut options = program.options;
    if !options.hosts.is_empty() {
        let names: Vec<&str> = options.hosts.iter().map(|host| &*host.name).collect();
        options.info.push(("host".to_owned(), names.join(",")));
    }
    let inherit = options.inherit.or_else(|| job.inherit.clone()).unwrap_or_default();
    let mut set = job.set.clone();
    set.extend(tools.variables.iter().cloned());
    if let Some(prefix) = &options.prefix {
        set.push(prepend("PATH", &prefix.join("bin")));
        set.push(prepend("LD_LIBRARY_PATH", &prefix.join("lib")));
    }
    set.extend(options.set);
    let search_path =
        options.prefix.map(|prefix| prefix.join("bin").into_os_string()).or(options.search_path);
    dialects::prepare(&program.program, search_path.as_deref(), &mut set);
    // Before the library of another ABI, and before tools that the user loads: these are called next.
    if let Some(wrappers) = &tools.preload {
        put_before(&mut set, "LD_PRELOAD", wrappers);
    }
    App {
        program: program.program,
        arguments: program.arguments,
        count,
        environment: Environment { inherit, set },
        directory: options.directory,
        search_path,
        info: options.info,
    }
}

fn notes(job: &mut JobOptions) -> Vec<String> {
    let mut notes = parameters::settle(job);
    if let (Some(variable), true) = (job.allocated_by, job.verbosity == Verbosity::Verbose) {
        notes.push(format!("{variable} gives {} hosts", job.hosts.len()));
    }
    if !job.without_effect.is_empty() {
        let list = job.without_effect.iter().map(|(flag, instead)| format!("-{flag} ({instead})"));
        notes.push(format!("accepted without effect: {}", list.collect::<Vec<_>>().join(", ")));
    }
    if job.verbosity == Verbosity::Quiet {
        notes.clear();
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::command_line::parse;
    use std::env;

    fn planned(text: &str) -> Result<JobSpec, String> {
        let line = parse(text.split_whitespace().map(OsString::from).collect()).map_err(|e| e.to_string())?;
        plan(line).map(|planned| planned.spec).map_err(|e| e.to_string())
    }

    #[test]
    fn the_number_of_ranks_has_defaults() {
        for (text, size) in [
            ("./a", 1),
            ("-n 3 ./a", 3),
            ("-ppn 4 ./a", 4),
            ("-pernode ./a", 1),
            ("-host localhost:3 ./a", 3),
            ("-host localhost:3 -n 5 ./a", 5),
            ("-map-by ppr:2:node ./a", 2),
            ("-n 2 ./a : ./b", 3),
        ] {
            assert_eq!(planned(text).unwrap().size(), size, "{text}");
        }
    }

    #[test]
    fn ranks_are_spread_over_hosts() {
        let placed = |text: &str| {
            let spec = planned(text).unwrap();
            let names: Vec<&str> = spec.hosts.iter().map(|host| &*host.name).collect();
            (names.join(","), spec.host_of)
        };
        assert_eq!(placed("-hosts localhost -n 2 ./a"), (String::new(), vec![]));
        assert_eq!(placed("-hosts localhost,far -n 3 ./a"), ("localhost,far".to_owned(), vec![0, 0, 1]));
        assert_eq!(placed("-hosts far,far,off ./a"), ("far,off".to_owned(), vec![0, 1]));
        assert_eq!(placed("-hosts far:2,off:1 ./a"), ("far,off".to_owned(), vec![0, 0, 1]));
        assert_eq!(placed("-ppn 2 -hosts far,off ./a"), ("far,off".to_owned(), vec![0, 0, 1, 1]));
        assert_eq!(placed("-map-by node -n 3 -hosts far,off ./a"), ("far,off".to_owned(), vec![0, 1, 0]));
        assert_eq!(placed("-map-by ppr:1:node -hosts far,off ./a"), ("far,off".to_owned(), vec![0, 1]));
        // Hosts without ranks take no part.
        assert_eq!(placed("-hosts far,off,away -n 2 ./a"), ("far,off".to_owned(), vec![0, 1]));
        assert_eq!(placed("-ppn 2 -hosts far,off,away -n 3 ./a"), ("far,off".to_owned(), vec![0, 0, 1]));
        assert_eq!(placed("-hosts localhost,far -n 1 ./a"), (String::new(), vec![]));
    }

    #[test]
    fn programs_run_on_their_own_hosts() {
        let file = env::temp_dir().join(format!("alhena-programs-{}", std::process::id()));
        let hosts = env::temp_dir().join(format!("alhena-hosts-{}", std::process::id()));
        std::fs::write(&file, "-host b -n 1 ./a\n-host a,c ./b\n-n 1 ./c\n").unwrap();
        std::fs::write(&hosts, "a slots=2\nb slots=2\n").unwrap();
        let (file, hosts) = (file.display(), hosts.display());
        for (text, expected) in [
            ("-host a -n 1 ./a : -host b -n 1 ./b", "a b"),
            ("-host b -n 1 ./a : -host a -n 2 ./b", "b a a"),
            ("-host a,b -n 2 ./a : -host c -n 1 ./b", "a b c"),
            ("-host c -n 1 ./a : -host a,b -n 2 ./b", "c a b"),
            ("-host a:2 -n 2 ./a : -host a:2,b:1 -n 3 ./b", "a a a a b"),
            ("-host a -n 1 ./a : -host localhost -n 1 ./b", "a localhost"),
            ("-n 1 -host a ./a : -n 1 ./b", "a a"),
            ("-host a,b -n 1 ./a : -n 1 ./b", "a b"),
            ("-host a,b ./a : -host c:3 ./b", "a b c c c"),
            (&format!("-app {file}"), "b a c b"),
            (&format!("-host d,e -configfile {file}"), "b a c d"),
            (&format!("-hostfile {hosts} -n 1 ./a : -host b -n 2 ./b : -n 1 ./c"), "a b b a"),
            (&format!("-hostfile {hosts} -host b -n 2 ./a"), "b b"),
        ] {
            let spec = planned(text).unwrap();
            let names: Vec<&str> =
                spec.host_of.iter().map(|&host| &*spec.hosts[host as usize].name).collect();
            assert_eq!(names.join(" "), expected, "{text}");
        }
        for text in [
            &format!("-hostfile {hosts} -host b -n 3 ./a"),
            "-listen 0 -token-file f -host a ./a",
            "-host -oProxyCommand=x ./a",
        ] {
            assert_eq!(planned(text).unwrap_err().lines().count(), 3, "{text}");
        }
    }

    #[test]
    fn what_comes_before_a_file_of_programs_holds_for_each() {
        let file = env::temp_dir().join(format!("alhena-each-{}", std::process::id()));
        std::fs::write(&file, "./a\n-n 1 -env A 2 ./b\n").unwrap();
        let spec = planned(&format!("-n 2 -wdir /tmp -env A 1 -configfile {}", file.display())).unwrap();
        let [a, b] = &spec.apps[..] else { panic!("two programs") };
        assert_eq!((a.count, b.count), (2, 1));
        assert_eq!((&a.directory, &b.directory), (&Some("/tmp".into()), &Some("/tmp".into())));
        assert_eq!(b.environment.set.last(), Some(&("A".into(), "2".into())));
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_rank_file_places_ranks_by_itself_or_on_named_hosts() {
        let path = env::temp_dir().join(format!("alhena-ranks-{}", std::process::id()));
        std::fs::write(&path, "rank 0=far slot=0\nrank 1=off slot=1:0\nrank 2=far slot=1\n").unwrap();
        for (flags, size, host_of) in [
            (format!("-rankfile {}", path.display()), 3, vec![0, 1, 0]),
            (format!("-n 1 --map-by rankfile:FILE={}:oversubscribe", path.display()), 1, vec![0]),
            (
                format!("-n 2 --mca rmaps_rank_file_path {} -hosts localhost,off,far", path.display()),
                2,
                vec![1, 0],
            ),
        ] {
            let spec = planned(&format!("{flags} ./a")).unwrap();
            assert_eq!((spec.size(), &spec.host_of), (size, &host_of), "{flags}");
            assert_eq!(spec.placement.by_file.len(), size as usize, "{flags}");
        }
        for flags in ["-n 4", "-hosts far", "-map-by core", "-ppn 2"] {
            let text = format!("-rankfile {} {flags} ./a", path.display());
            assert_eq!(planned(&text).unwrap_err().lines().count(), 3, "{flags}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn settings_for_one_program_win_over_those_for_all() {
        let spec = planned("-genv A 1 -genvnone -n 1 -env A 2 ./a : -n 1 -envall ./b").unwrap();
        let pair = |value: &str| (OsString::from("A"), OsString::from(value));
        assert_eq!(spec.apps[0].environment.set, [pair("1"), pair("2")]);
        assert_eq!(spec.apps[0].environment.inherit, rte::spec::Inherit::None);
        assert_eq!(spec.apps[1].environment.inherit, rte::spec::Inherit::All);
    }
}

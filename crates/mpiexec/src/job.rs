//! From wishes to a job.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use rte::Unit;
use rte::binding::Map;
use rte::spec::{self, App, Environment, JobSpec, Verbosity};

use crate::command_line::{CommandLine, Program};
use crate::hosts::Host;
use crate::options::JobOptions;
use crate::rankfile::RankFile;
use crate::spread::Spread;
use crate::usage::UsageError;
use crate::{allocation, hosts, parameters, variables};

/// A job, and what is to be said before it starts.
pub struct Planned {
    /// The job.
    pub spec: JobSpec,
    /// Remarks, one line each.
    pub notes: Vec<String>,
}

/// Turns a command line into a job.
pub fn plan(line: CommandLine) -> Result<Planned, UsageError> {
    let CommandLine { mut job, programs } = line;
    variables::fill_in(&mut job)?;
    let named = !job.hosts.is_empty();
    if !named
        && job.listen.is_none()
        && let Some(allocation) = allocation::find()
    {
        job.allocated_by = Some(allocation.variable);
        job.hosts = allocation.hosts;
    }
    if let (Some(file), true) = (&job.rank_file, job.hosts.is_empty()) {
        job.hosts = file.hosts();
    }
    job.hosts = hosts::merged(&job.hosts);
    if let Some(Map { unit: Unit::Host, per_object: Some(count), .. }) = job.placement.map {
        job.per_host.get_or_insert(count);
    }
    let notes = notes(&mut job);
    let default_count = default_count(&job, programs.len());
    let listen = listen(&mut job, &programs, default_count)?;
    let hosts = job.hosts.clone();
    let launcher = job.launcher.settle();
    let recorder = job.record.as_deref().map(recorder).transpose()?;
    let apps: Vec<App> =
        programs.into_iter().map(|program| app(program, &job, default_count, recorder.as_ref())).collect();
    let host_of = place(&mut job, apps.iter().map(|app| app.count).sum())?;
    let elsewhere = listen.is_some() || hosts.iter().any(|host| !host.is_local());
    let (spec_hosts, host_of) = match elsewhere {
        true => with_ranks(hosts.iter().map(spec_host).collect(), &host_of),
        false => (Vec::new(), Vec::new()),
    };
    let spec = JobSpec {
        hosts: spec_hosts,
        host_of,
        launcher,
        listen,
        universe_size: job.universe_size,
        placement: job.placement.clone(),
        report_bindings: job.report_bindings,
        display_map: job.display_map,
        output: job.output,
        stdin: job.stdin,
        timeout: job.timeout,
        stack_traces: job.stack_traces,
        cleanup: job.cleanup,
        print_exit_codes: job.print_exit_codes,
        verbosity: job.verbosity,
        ..JobSpec::new(apps, btl_vader::segment_bytes)
    };
    check_slots(&hosts, &spec)?;
    Ok(Planned { spec, notes })
}

/// What `-listen` asks for. The hosts are then workers, with `-ppn` ranks each.
fn listen(
    job: &mut JobOptions,
    programs: &[Program],
    default_count: u32,
) -> Result<Option<spec::Listen>, UsageError> {
    let Some(port) = job.listen else { return Ok(None) };
    let Some(token_file) = job.token_file.clone() else {
        let seen = "-listen without -token-file, so that no worker could prove who it is".to_owned();
        return Err(UsageError::Contradiction { seen });
    };
    let ranks: u32 = programs.iter().map(|program| program.options.count.unwrap_or(default_count)).sum();
    let each = *job.per_host.get_or_insert(1);
    job.hosts = (0..ranks.div_ceil(each))
        .map(|number| Host { name: format!("worker-{number}"), slots: None, strict: false })
        .collect();
    Ok(Some(spec::Listen { port, token_file }))
}

/// The hosts that have ranks, in their order, and the place of each rank's host among them. None if it is this one alone.
fn with_ranks(hosts: Vec<spec::Host>, host_of: &[u32]) -> (Vec<spec::Host>, Vec<u32>) {
    let mut places = vec![None; hosts.len()];
    let mut used = Vec::new();
    for (index, host) in hosts.into_iter().enumerate() {
        if host_of.contains(&(index as u32)) {
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

/// The host of each of `count` ranks. A rank file names their processors, too.
fn place(job: &mut JobOptions, count: u32) -> Result<Vec<u32>, UsageError> {
    let Some(file) = &job.rank_file else {
        return Ok(Spread::new(job).ranks(count));
    };
    if job.placement.map.is_some() || job.per_host.is_some_and(|_| job.listen.is_none()) {
        let seen = "a rank file and -map-by or -ppn".to_owned();
        return Err(UsageError::Contradiction { seen });
    }
    let (host_of, slots) = file.place(count, &job.hosts)?;
    job.placement.by_file = slots;
    Ok(host_of)
}

fn spec_host(host: &Host) -> spec::Host {
    spec::Host { name: host.name.clone(), local: host.is_local() }
}

/// Ranks of a program without `-n`.
fn default_count(job: &JobOptions, programs: usize) -> u32 {
    let count = job.hosts.len().max(1) as u32;
    let slots = hosts::slots(&job.hosts).map(|(slots, _)| slots);
    let on_each = job.per_host.or(job.placement.ranks_by_ppr()).map(|ranks| ranks * count);
    let by_file = job.rank_file.as_ref().map(RankFile::count);
    let whole_job = by_file.or(on_each).or(slots).or((count > 1).then_some(count));
    if programs == 1 { whole_job.unwrap_or(1) } else { 1 }
}

/// Host files set limits; a bare `host:N` only says where to put how many.
fn check_slots(hosts: &[hosts::Host], spec: &JobSpec) -> Result<(), UsageError> {
    let ranks = spec.size();
    match hosts::slots(hosts) {
        Some((slots, strict)) if ranks > slots => {
            let strict = strict || spec.placement.oversubscribe == Some(false);
            let allowed = spec.placement.oversubscribe == Some(true);
            if strict && !allowed { Err(UsageError::Slots { ranks, slots }) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

fn app(program: Program, job: &JobOptions, default_count: u32, recorder: Option<&Variables>) -> App {
    let options = program.options;
    let inherit = options.inherit.or_else(|| job.inherit.clone()).unwrap_or_default();
    let mut set = job.set.clone();
    if let Some(recorder) = recorder {
        set.extend(recorder.iter().cloned());
    }
    if let Some(prefix) = &options.prefix {
        set.push(prepend("PATH", &prefix.join("bin")));
        set.push(prepend("LD_LIBRARY_PATH", &prefix.join("lib")));
    }
    set.extend(options.set);
    App {
        program: program.program,
        arguments: program.arguments,
        count: options.count.unwrap_or(default_count),
        environment: Environment { inherit, set },
        directory: options.directory,
        search_path: options.prefix.map(|prefix| prefix.join("bin").into_os_string()).or(options.search_path),
        info: options.info,
    }
}

/// Variables and their values.
type Variables = [(OsString, OsString); 2];

/// What has each rank load the recorder and write to `folder`.
fn recorder(folder: &Path) -> Result<Variables, UsageError> {
    let installed = env::current_exe().ok().and_then(|own| Some(own.parent()?.parent()?.join(RECORDER)));
    let library = installed.filter(|library| library.exists()).ok_or(UsageError::Unsupported {
        what: "-record",
        seen: "this mpiexec has no lib/libalhena_record.so beside it",
        next: "install Alhena whole: make install PREFIX=DIR",
    })?;
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    Ok([prepend("LD_PRELOAD", &library), ("ALHENA_RECORD".into(), folder.into_os_string())])
}

/// The recorder, from the root of the installation.
const RECORDER: &str = "lib/libalhena_record.so";

/// A search path with `directory` in front.
fn prepend(name: &str, directory: &Path) -> (OsString, OsString) {
    let mut value = directory.as_os_str().to_owned();
    if let Some(rest) = env::var_os(name).filter(|rest| !rest.is_empty()) {
        value.push(":");
        value.push(rest);
    }
    (OsString::from(name), value)
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
    use super::*;
    use crate::command_line::parse;

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
            let names: Vec<&str> = spec.hosts.iter().map(|host| host.name.as_str()).collect();
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

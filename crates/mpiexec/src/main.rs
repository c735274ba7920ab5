use rte::spec::*;
fn main() {
    let mut args = std::env::args_os().skip(1);
    let mut n = 1;
    let mut rest = vec![];
    while let Some(a) = args.next() {
        if a == "-n" { n = args.next().unwrap().to_str().unwrap().parse().unwrap(); } else { rest.push(a); rest.extend(args.by_ref()); }
    }
    let app = App { program: rest.remove(0), arguments: rest, count: n, environment: Environment::default(), directory: None, search_path: None, info: vec![] };
    match rte::run(JobSpec::new(vec![app], btl_vader::segment_bytes)) {
        Ok(c) => std::process::exit(c as i32),
        Err(e) => { eprintln!("mpiexec: {e}"); std::process::exit(e.exit_code() as i32) }
    }
}

//! What the XT4 paper says of applications: which layer is better depends on the program.

use sim::seastar::applications::{ALLREDUCES, Application, Job, Times, allreduce, run};
use sim::seastar::{Machine, System};

const SYSTEMS: [System; 3] = [System::Cm, System::Ob1, System::Cray];

fn times(machine: &Machine, application: Application, ranks: u32, name: &str) -> [Times; 3] {
    let algorithm = allreduce(name).expect("an algorithm of the library");
    let job = Job { application, ranks, allreduce: algorithm, imbalance: 1.0 };
    let all = SYSTEMS.map(|system| run(machine, system, &job).expect("it ends"));
    let ms = |of: fn(&Times) -> f64| all.each_ref().map(|times| of(times) * 1000.0);
    println!(
        "{:5} {ranks:4} ranks: ms a step: CM, OB1, Cray-MPI {:8.3?}, first phase {:8.3?}, second {:8.3?}",
        application.name(),
        ms(|t| t.step),
        ms(|t| t.first),
        ms(|t| t.second)
    );
    all
}

/// POP: the solver's reductions make CM better than OB1, the more the more ranks there are.
#[test]
fn pop_is_faster_over_cm() {
    let machine = Machine::xt4().expect("a machine");
    let share = |ranks| {
        let [cm, ob1, _] = times(&machine, Application::Pop, ranks, "tree");
        assert!(cm.second < ob1.second && cm.step < ob1.step, "{ranks} ranks");
        ob1.step / cm.step
    };
    let (few, many) = (share(16), share(64));
    assert!(few < 1.05 && many > few, "{few} {many}");
}

/// POP with the algorithms that the paper compares: linear is very poor.
#[test]
fn pop_depends_on_the_allreduce() {
    let machine = Machine::xt4().expect("a machine");
    let step = |&(name, _): &(&str, &str)| {
        let algorithm = allreduce(name).expect("an algorithm of the library");
        let job = Job { application: Application::Pop, ranks: 64, allreduce: algorithm, imbalance: 1.0 };
        run(&machine, System::Cm, &job).expect("it ends").step
    };
    let all: Vec<f64> = ALLREDUCES.iter().map(step).collect();
    println!("POP on 64 ranks over CM, ms a step: {ALLREDUCES:?} {all:.6?}");
    let best = all.iter().copied().fold(f64::MAX, f64::min);
    assert!(all[2] > 1.1 * best && all[0] < 1.15 * best);
}

/// GTC runs on all layers, which are within a few percent of each other, as on the machine.
#[test]
fn gtc_runs_on_all_layers() {
    let machine = Machine::xt4().expect("a machine");
    let gtc = times(&machine, Application::Gtc, 4, "tree");
    let (least, most) =
        gtc.iter().fold((f64::MAX, 0.0f64), |(least, most), t| (least.min(t.step), most.max(t.step)));
    assert!(most < 1.1 * least);
}

/// S3D computes while its faces are under way: over CM they need no call of the receiver's, over OB1 they wait for one.
/// And copies of early messages, which Cray-MPI makes of them, are what decides between CM and Cray-MPI.
#[test]
fn s3d_is_faster_over_cm_than_over_ob1() {
    let mut machine = Machine::xt4().expect("a machine");
    let [cm, ob1, cray] = times(&machine, Application::S3d, 16, "tree");
    assert!(cm.step < ob1.step);
    machine.copy_rate = 1.2;
    let [slow_cm, _, slow_cray] = times(&machine, Application::S3d, 16, "tree");
    assert!(slow_cray.step / slow_cm.step > cray.step / cm.step);
}

/// The two ranks of a node share its port and its interrupts, so POP takes longer than with a node for each.
#[test]
fn ranks_of_a_node_are_in_each_others_way() {
    let machine = Machine::xt4().expect("a machine");
    let mut alone = machine.clone();
    alone.cores = 1;
    for (two, one) in
        times(&machine, Application::Pop, 16, "tree").iter().zip(times(&alone, Application::Pop, 16, "tree"))
    {
        assert!(two.step > one.step);
    }
}

//! What the XT4 paper says of applications: which layer is better depends on the program.

use seastar::applications::{ALLREDUCES, Application, Times, allreduce, run};
use seastar::{Machine, System};

const SYSTEMS: [System; 3] = [System::Cm, System::Ob1, System::Cray];

fn times(machine: &Machine, application: Application, ranks: u32, name: &str) -> [Times; 3] {
    let algorithm = allreduce(name).expect("an algorithm of the library");
    let all = SYSTEMS.map(|system| run(machine, system, application, ranks, algorithm).expect("it ends"));
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
        run(&machine, System::Cm, Application::Pop, 64, algorithm).expect("it ends").step
    };
    let all: Vec<f64> = ALLREDUCES.iter().map(step).collect();
    println!("POP on 64 ranks over CM, ms a step: {ALLREDUCES:?} {all:.6?}");
    let best = all.iter().copied().fold(f64::MAX, f64::min);
    assert!(all[3] > 1.1 * best && all[0] < 1.15 * best);
}

/// GTC and S3D run on all layers, which are within a few percent of each other, as on the machine.
#[test]
fn gtc_and_s3d_run_on_all_layers() {
    let machine = Machine::xt4().expect("a machine");
    let gtc = times(&machine, Application::Gtc, 4, "tree");
    let (least, most) =
        gtc.iter().fold((f64::MAX, 0.0f64), |(least, most), t| (least.min(t.step), most.max(t.step)));
    assert!(most < 1.1 * least);
    times(&machine, Application::S3d, 8, "tree");
}

//! `alhena sim calibrate`: the costs, the fit, and what the predictions hang on.

use std::error::Error;

use clap::Args;
use gni_timed::{Costs, Parameter};
use serde::Serialize;
use sim::experiments::{LAMMPS_COMPUTE, lammps};
use sim::paper::{POINTS, Point};
use sim::{Setup, SoftwareCosts, calibrate, paper};

use super::output::{Output, percent, row};
use super::progress::side_by_side;

/// Costs that the fit replaces.
const FITTED: [&str; 3] = ["request", "bte_start", "nic_rate"];

/// Shows the costs and fits three of them.
#[derive(Args)]
pub struct Calibrate {
    #[command(flatten)]
    output: Output,
}

/// How far the predictions are off when one cost is another.
#[derive(Serialize)]
struct Variation {
    what: String,
    /// For each of the paper's points that nothing is fitted to: simulated divided by the paper's, less 1.
    errors: Vec<f64>,
    /// LAMMPS's parallel efficiency on [`RANKS`] ranks.
    efficiency: f64,
}

/// Ranks of LAMMPS for each variation, 16 a node.
const RANKS: u32 = 256;

impl Calibrate {
    /// Fits, varies, shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let fitted = calibrate::fit(Costs::SOURCED, SoftwareCosts::SOURCED)?;
        println!("{}", costs_table(&fitted));
        let mut variations = vec![predictions("as above".to_string(), fitted, SoftwareCosts::SOURCED)?];
        let changes: Vec<_> = varied().flat_map(|parameter| [(parameter, 0.5), (parameter, 2.0)]).collect();
        let varied = side_by_side(&changes, |(parameter, factor)| variation(parameter, *factor));
        variations.extend(varied.into_iter().collect::<Result<Vec<_>, _>>()?);
        let title = "predictions off the paper's figures, and LAMMPS's parallel efficiency; each cost halved and doubled, \
                     then fitted anew";
        self.output.show(title, &variations_table(&variations), &variations, &[])
    }
}

fn predicted() -> impl Iterator<Item = &'static Point> {
    POINTS.iter().filter(|point| !point.fitted)
}

/// Those that are assumed or sourced and above 0, so that half and double are something else.
fn varied() -> impl Iterator<Item = Parameter> {
    let all = Costs::SOURCED.parameters().into_iter().chain(SoftwareCosts::SOURCED.parameters());
    // Datagrams make connections, which are there before time is taken; the pair's link is an X link, and it has
    // mailboxes.
    let without_effect = ["datagram", "link_y", "link_z", "shared_line"];
    all.filter(move |p| p.value > 0.0 && !FITTED.contains(&p.name) && !without_effect.contains(&p.name))
}

fn variation(parameter: &Parameter, factor: f64) -> Result<Variation, sim::Error> {
    let (mut costs, mut software) = (Costs::SOURCED, SoftwareCosts::SOURCED);
    if let Some(cost) = costs.parameter_mut(parameter.name).or_else(|| software.parameter_mut(parameter.name))
    {
        *cost *= factor;
    }
    let fitted = calibrate::fit(costs, software)?;
    predictions(format!("{} = {}", parameter.name, parameter.value * factor), fitted, software)
}

fn predictions(what: String, costs: Costs, software: SoftwareCosts) -> Result<Variation, sim::Error> {
    let nodes = Setup { software, ranks_per_node: 16, node_spacing: 1, ..paper::setup(costs) };
    let efficiency = LAMMPS_COMPUTE / lammps(&nodes, RANKS)?.loop_time;
    Ok(Variation { what, errors: errors(costs, software)?, efficiency })
}

fn errors(costs: Costs, software: SoftwareCosts) -> Result<Vec<f64>, sim::Error> {
    let setup = Setup { software, ..paper::setup(costs) };
    let error = |point: &Point| {
        let simulated = sim::experiments::latency(&setup, point.bytes, point.offset)?;
        Ok(simulated.nanoseconds / 1000.0 / point.latency - 1.0)
    };
    predicted().map(error).collect()
}

fn costs_table(fitted: &Costs) -> String {
    let all = Costs::SOURCED.parameters().into_iter().chain(SoftwareCosts::SOURCED.parameters());
    let fitted = fitted.parameters();
    let line = |parameter: Parameter| {
        let Parameter { name, value, unit, source } = parameter;
        let fit = fitted.iter().find(|fit| fit.name == name && FITTED.contains(&name));
        let fit = fit.map_or(String::new(), |fit| format!("fitted {:.4}", fit.value));
        format!("  {name:16} {value:>8} {unit:5} {fit:16} {source}\n")
    };
    all.map(line).collect()
}

fn variations_table(variations: &[Variation]) -> Vec<Vec<String>> {
    let head = predicted().map(|point| format!("{} B", point.bytes));
    let head = row(["changed cost"]).into_iter().chain(head).chain([format!("LAMMPS on {RANKS}")]).collect();
    let line = |variation: &Variation| {
        let errors = variation.errors.iter().map(|&error| percent(error));
        let efficiency = format!("{:.1} %", 100.0 * variation.efficiency);
        std::iter::once(variation.what.clone()).chain(errors).chain([efficiency]).collect()
    };
    std::iter::once(head).chain(variations.iter().map(line)).collect()
}

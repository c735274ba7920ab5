//! `alhena sim calibrate`: the costs, the fit, and what the figures hang on.

use std::error::Error;

use clap::Args;
use gni_timed::{Costs, Parameter};
use serde::Serialize;
use sim::SoftwareCosts;
use sim::headlines::{Fitted, HEADLINES, percents};

use super::output::{Output, row};
use super::progress::side_by_side;

/// Costs that the fit replaces.
const FITTED: [&str; 3] = ["request", "bte_start", "nic_rate"];

/// Shows the costs and fits three of them.
#[derive(Args)]
pub struct Calibrate {
    #[command(flatten)]
    output: Output,
}

/// All figures with one cost changed.
#[derive(Serialize)]
struct Variation {
    /// The cost and its value; `None`: as it is.
    changed: Option<String>,
    /// In percent, in the order of [`HEADLINES`].
    figures: Vec<f64>,
}

/// What one figure hangs on.
#[derive(Serialize)]
struct Sensitivity {
    figure: &'static str,
    percent: f64,
    /// The lowest and highest with one cost changed, and that cost.
    lowest: (f64, String),
    highest: (f64, String),
    /// Other costs that change it by at least [`MATTERS`].
    others: Vec<&'static str>,
}

#[derive(Serialize)]
struct Figures {
    sensitivities: Vec<Sensitivity>,
    variations: Vec<Variation>,
}

/// Points of percent by which a cost has to change a figure to be named.
const MATTERS: f64 = 1.0;

impl Calibrate {
    /// Fits, varies, shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let fitted = Fitted::fit(Costs::SOURCED, SoftwareCosts::SOURCED)?;
        println!("{}", costs_table(&fitted.costs));
        let changes: Vec<_> = varied().flat_map(|parameter| [(parameter, 0.5), (parameter, 2.0)]).collect();
        let done = side_by_side(&changes, |(parameter, factor)| variation(parameter, *factor));
        let mut variations = vec![Variation { changed: None, figures: percents(&fitted)?.to_vec() }];
        variations.extend(done.into_iter().collect::<Result<Vec<_>, _>>()?);
        let names: Vec<&'static str> = changes.iter().map(|(parameter, _)| parameter.name).collect();
        let sensitivities: Vec<_> = HEADLINES
            .iter()
            .enumerate()
            .map(|(at, figure)| Sensitivity::of(at, figure, &variations, &names))
            .collect();
        let title = "the figures that docs/evaluation.md rests on, in percent; each cost halved and doubled, then fitted anew";
        let rows = table(&sensitivities);
        self.output.show(title, &rows, &Figures { sensitivities, variations }, &[])
    }
}

impl Sensitivity {
    /// Of the figure `at`; `names` are the costs of all variations but the first.
    fn of(at: usize, figure: &'static str, variations: &[Variation], names: &[&'static str]) -> Sensitivity {
        let percent = variations[0].figures[at];
        let named = |variation: &Variation| {
            (
                variation.figures[at],
                variation.changed.clone().unwrap_or_else(|| "nothing changed".to_string()),
            )
        };
        let by_figure = |a: &&Variation, b: &&Variation| a.figures[at].total_cmp(&b.figures[at]);
        let lowest = variations.iter().min_by(by_figure).map(named).unwrap_or_default();
        // Of equal ones the first, as `min_by` does, so that nothing is named that changes nothing.
        let highest = variations.iter().rev().max_by(by_figure).map(named).unwrap_or_default();
        let is_named = |name: &str| {
            [&lowest, &highest].iter().any(|(_, changed)| changed.split(" = ").next() == Some(name))
        };
        let changes = names.iter().zip(&variations[1..]);
        let mut others: Vec<_> = changes
            .filter(|(name, variation)| (variation.figures[at] - percent).abs() >= MATTERS && !is_named(name))
            .map(|(&name, _)| name)
            .collect();
        others.dedup();
        Sensitivity { figure, percent, lowest, highest, others }
    }
}

/// Those that are assumed or sourced and above 0, so that half and double are something else.
fn varied() -> impl Iterator<Item = Parameter> {
    let all = Costs::SOURCED.parameters().into_iter().chain(SoftwareCosts::SOURCED.parameters());
    all.filter(move |p| p.value > 0.0 && !FITTED.contains(&p.name))
}

fn variation(parameter: &Parameter, factor: f64) -> Result<Variation, sim::Error> {
    let (mut costs, mut software) = (Costs::SOURCED, SoftwareCosts::SOURCED);
    if let Some(cost) = costs.parameter_mut(parameter.name).or_else(|| software.parameter_mut(parameter.name))
    {
        *cost *= factor;
    }
    let changed = Some(format!("{} = {}", parameter.name, parameter.value * factor));
    Ok(Variation { changed, figures: percents(&Fitted::fit(costs, software)?)?.to_vec() })
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

fn table(sensitivities: &[Sensitivity]) -> Vec<Vec<String>> {
    let head = row(["figure", "%", "lowest", "with", "highest", "with", "by a point or more, too"]);
    let line = |of: &Sensitivity| {
        let [percent, lowest, highest] = [of.percent, of.lowest.0, of.highest.0].map(|it| format!("{it:.1}"));
        let others = of.others.join(", ");
        vec![
            of.figure.to_string(),
            percent,
            lowest,
            of.lowest.1.clone(),
            highest,
            of.highest.1.clone(),
            others,
        ]
    };
    std::iter::once(head).chain(sensitivities.iter().map(line)).collect()
}

//! Log-log pictures as in the papers' figures: one curve per MPI (or simulation) over the message size (or ranks).

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::FontStyle;

use crate::drawing::{self, BLUE, Error, FONT, Filled, INK, ORANGE, Picture};
use crate::log_axis::{LogAxis, Ticks};

/// One diagram of a picture.
#[derive(Debug)]
pub struct Panel {
    /// Text above the diagram.
    pub title: String,
    /// What the curves run over.
    pub over: Over,
    /// Unit of the values.
    pub unit: &'static str,
    /// One per MPI.
    pub curves: Vec<Curve>,
}

/// One MPI's values.
#[derive(Debug)]
pub struct Curve {
    /// For the legend.
    pub label: String,
    /// Bytes (or ranks) and values, all above 0.
    pub points: Vec<(f64, f64)>,
    /// Whether the points are joined by a line.
    pub joined: bool,
}

/// What a horizontal axis shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// Message lengths.
    Bytes,
    /// Numbers of ranks.
    Ranks,
    /// One of so many frames that is lost.
    LostOf,
}

impl Over {
    fn title(self) -> &'static str {
        match self {
            Over::Bytes => "message size [bytes]",
            Over::Ranks => "ranks",
            Over::LostOf => "frames of which one is lost",
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Over::Bytes => size_label(value),
            Over::Ranks | Over::LostOf => value.to_string(),
        }
    }
}

const PANEL: (u32, u32) = (760, 520);
/// Distinct in print and for the colour-blind (Okabe and Ito); the first is Alhena's.
const COLOURS: [RGBColor; 5] = [BLUE, ORANGE, RGBColor(0, 158, 115), RGBColor(204, 121, 167), INK];

/// Draws the panels into STEM.svg and STEM.png.
///
/// # Errors
/// A file cannot be written.
pub fn draw(stem: &Path, panels: &[Panel]) -> Result<(), Error> {
    drawing::draw(stem, &Panels(panels)).map(|_| ())
}

struct Panels<'p>(&'p [Panel]);

impl Panels<'_> {
    fn rows_and_columns(&self) -> (usize, usize) {
        (self.0.len().div_ceil(2), self.0.len().min(2))
    }
}

impl Picture for Panels<'_> {
    fn size(&self) -> (u32, u32) {
        let (rows, columns) = self.rows_and_columns();
        (PANEL.0 * columns as u32, PANEL.1 * rows as u32)
    }

    fn fill<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Filled<B> {
        area.fill(&WHITE)?;
        for (place, panel) in area.split_evenly(self.rows_and_columns()).iter().zip(self.0) {
            draw_panel(place, panel)?;
        }
        area.present()
    }
}

fn draw_panel<B: DrawingBackend>(area: &DrawingArea<B, Shift>, panel: &Panel) -> Filled<B> {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let x = LogAxis::around(points().map(|point| point.0), Ticks::PowersOfTwo);
    let y = LogAxis::around(points().map(|point| point.1), Ticks::Decades);

    let places: Vec<_> = points().map(|point| (x.share(point.0), y.share(point.1))).collect();

    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, (FONT, 21, FontStyle::Bold).into_font().color(&INK))
        .margin(14)
        .x_label_area_size(58)
        .y_label_area_size(84)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .bold_line_style(RGBColor(205, 205, 205))
        .light_line_style(RGBColor(236, 236, 236))
        .axis_style(INK)
        .x_desc(panel.over.title())
        .y_desc(panel.unit)
        .x_label_formatter(&|value| panel.over.label(*value))
        .y_label_formatter(&|value| value_label(*value))
        .label_style((FONT, 15).into_font().color(&INK))
        .axis_desc_style((FONT, 17).into_font().color(&INK))
        .draw()?;

    // The first curve is drawn last, over the others; rings around single points show what lies under them.
    let joined = panel.curves.iter().enumerate().filter(|(_, curve)| curve.joined);
    for (index, curve) in joined.rev() {
        let style = style_of(index);
        chart.draw_series(LineSeries::new(curve.points.iter().copied(), style))?;
        let marks = curve.points.iter();
        match index % 3 {
            0 => chart.draw_series(marks.map(|&at| Circle::new(at, 4, style.filled())))?,
            1 => chart.draw_series(marks.map(|&at| TriangleMarker::new(at, 6, style.filled())))?,
            _ => chart.draw_series(marks.map(|&at| Cross::new(at, 4, style)))?,
        };
    }
    for (index, curve) in panel.curves.iter().enumerate().filter(|(_, curve)| !curve.joined) {
        chart.draw_series(curve.points.iter().map(|&at| Circle::new(at, 9, style_of(index))))?;
    }
    // The legend has an order of its own: it lists what has a label, whether or not it has points.
    for (index, curve) in panel.curves.iter().enumerate() {
        let sample = move |(x, y)| PathElement::new([(x, y), (x + 26, y)], style_of(index));
        chart.draw_series(LineSeries::new([], style_of(index)))?.label(&curve.label).legend(sample);
    }
    chart
        .configure_series_labels()
        .position(free_corner(&places))
        .margin(12)
        .legend_area_size(34)
        .background_style(WHITE)
        .border_style(RGBColor(190, 190, 190))
        .label_font((FONT, 17).into_font().color(&INK))
        .draw()
}

/// A corner where the legend covers none of these points, given as shares of width and height.
fn free_corner(places: &[(f64, f64)]) -> SeriesLabelPosition {
    let corners = [
        (SeriesLabelPosition::UpperLeft, false, true),
        (SeriesLabelPosition::UpperRight, true, true),
        (SeriesLabelPosition::LowerRight, true, false),
    ];
    let free = corners.into_iter().find(|&(_, right, upper)| {
        let from_edge = |share: f64, far: bool| if far { 1.0 - share } else { share };
        places.iter().all(|&(x, y)| from_edge(x, right) > 0.25 || from_edge(y, upper) > 0.3)
    });
    free.map_or(SeriesLabelPosition::LowerLeft, |(corner, ..)| corner)
}

/// The first curve is Alhena's and the boldest.
fn style_of(index: usize) -> ShapeStyle {
    COLOURS[index % COLOURS.len()].stroke_width(if index == 0 { 3 } else { 2 })
}

/// `512`, `4 Ki`, `8 Mi`.
pub fn size_label(bytes: f64) -> String {
    match bytes {
        b if b >= 1048576.0 => format!("{} Mi", b / 1048576.0),
        b if b >= 1024.0 => format!("{} Ki", b / 1024.0),
        b => b.to_string(),
    }
}

/// `0.1`, `500`, `20 k`, `5 M`.
fn value_label(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} M", v / 1e6),
        v if v >= 1e4 => format!("{} k", v / 1e3),
        // Powers of ten below one are not exact.
        v => format!("{}", (v * 1e6).round() / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        assert_eq!(size_label(512.0), "512");
        assert_eq!(size_label(4096.0), "4 Ki");
        assert_eq!(size_label(8388608.0), "8 Mi");
        assert_eq!(value_label(0.1), "0.1");
        assert_eq!(value_label(20000.0), "20 k");
    }

    #[test]
    fn the_legend_covers_no_curve() {
        assert!(matches!(free_corner(&[(0.1, 0.1), (0.9, 0.9)]), SeriesLabelPosition::UpperLeft));
        assert!(matches!(free_corner(&[(0.1, 0.9), (0.9, 0.1)]), SeriesLabelPosition::UpperRight));
    }

    #[test]
    fn both_files_are_drawn() {
        let curve = |label: &str, factor: f64| Curve {
            label: label.into(),
            points: (0..24).map(|n| (f64::from(1 << n), factor * f64::from(1 << n))).collect(),
            joined: true,
        };
        let curves = vec![curve("A", 0.1), curve("B", 0.2)];
        let panel = Panel { title: "test".into(), over: Over::Bytes, unit: "µs", curves };
        let name = |ending: &str| format!("alhena.picture-{}{ending}", std::process::id());
        draw(&std::env::temp_dir().join(name("")), &[panel]).expect("the temporary directory is writable");
        for ending in [".svg", ".png"] {
            let file = std::env::temp_dir().join(name(ending));
            assert!(std::fs::metadata(&file).expect("it was drawn").len() > 1000);
            std::fs::remove_file(file).expect("it is ours");
        }
    }
}

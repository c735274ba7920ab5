//! Pictures, each in two files: as vectors and as pixels.

use std::path::{Path, PathBuf};
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

/// The font of all text.
pub const FONT: &str = "sans-serif";
/// The colour of text and lines.
pub const INK: RGBColor = RGBColor(40, 40, 40);
/// With [`ORANGE`] distinct in print and for the colour-blind (Okabe and Ito).
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// See [`BLUE`].
pub const ORANGE: RGBColor = RGBColor(213, 94, 0);

/// What is drawn into either file.
pub trait Picture {
    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Draws it.
    fn fill<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Filled<B>;
}

/// Whether the backend has drawn it.
pub type Filled<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// A picture that cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error(
    "alhena: drawing {path} failed\n  seen: {seen}\n  next: choose another place, or leave --picture out"
)]
pub struct Error {
    path: PathBuf,
    seen: String,
}

/// Draws STEM.svg and STEM.png; their paths.
///
/// # Errors
/// A file cannot be written.
pub fn draw(stem: &Path, picture: &impl Picture) -> Result<[PathBuf; 2], Error> {
    register_fonts();
    let [svg, png] = ["svg", "png"].map(|ending| with_ending(stem, ending));
    let failed = |path: &Path, seen: String| Error { path: path.into(), seen };
    picture
        .fill(&SVGBackend::new(&svg, picture.size()).into_drawing_area())
        .map_err(|error| failed(&svg, error.to_string()))?;
    picture
        .fill(&BitMapBackend::new(&png, picture.size()).into_drawing_area())
        .map_err(|error| failed(&png, error.to_string()))?;
    Ok([svg, png])
}

/// Makes the fonts known that pictures are drawn with.
fn register_fonts() {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        for (style, file) in
            [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())]
        {
            // It fails only for a file that is no font.
            let _ = register_font(FONT, style, file);
        }
    });
}

/// STEM may contain dots of its own.
fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

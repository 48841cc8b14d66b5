//! Draws with resvg and svg2pdf.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Group, Node, Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

use super::figure::Chart;
use super::picture::{NotDrawn, PictureError, PictureFormat};

/// Pixels for each of the SVG's.
const SHARPNESS: f32 = 2.0;

/// What texts are written with where the fonts that charts name are not there: the first of these that is, else any font.
const STAND_INS: [&str; 5] = ["Liberation Sans", "DejaVu Sans", "Noto Sans", "FreeSans", "Nimbus Sans"];

/// Draws charts with the fonts of this machine.
pub struct Painter(Options<'static>);

impl Painter {
    /// Looks for fonts.
    ///
    /// # Errors
    /// When there is none.
    pub fn new() -> Result<Self, PictureError> {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        Self::with(fonts)
    }

    fn with(mut fonts: Database) -> Result<Self, PictureError> {
        let stand_in = stand_in(&fonts).ok_or(PictureError::NoFont)?;
        fonts.set_sans_serif_family(stand_in.clone());
        fonts.set_serif_family(stand_in);
        Ok(Self(Options { fontdb: Arc::new(fonts), ..Options::default() }))
    }

    /// The chart's picture.
    ///
    /// # Errors
    /// When some of its texts would not be seen, or it is too large for pixels.
    pub fn paint(&self, chart: &Chart, format: PictureFormat) -> Result<Vec<u8>, PictureError> {
        let svg = chart.svg();
        let wrong = |why| PictureError::Drawing { chart: chart.name.clone(), why };
        let tree = Tree::from_str(&svg, &self.0).map_err(|error| wrong(NotDrawn::Svg(error)))?;
        let texts = svg.matches("<text ").count() - svg.matches("></text>").count();
        let lacking = texts.saturating_sub(written(tree.root()));
        if lacking > 0 {
            return Err(PictureError::NoLetters { chart: chart.name.clone(), lacking, texts });
        }
        match format {
            PictureFormat::Png => png(&tree).map_err(wrong),
            PictureFormat::Pdf => pdf(&tree).map_err(wrong),
        }
    }
}

/// A family that is there.
fn stand_in(fonts: &Database) -> Option<String> {
    let there = |name: &&&str| fonts.query(&Query { families: &[Family::Name(name)], ..Query::default() }).is_some();
    let any = || fonts.faces().find_map(|face| face.families.first()).map(|(name, _)| name.clone());
    STAND_INS.iter().find(there).map(|name| (*name).to_owned()).or_else(any)
}

/// Texts all of whose letters some font has.
fn written(group: &Group) -> usize {
    let of = |node: &Node| match node {
        Node::Group(group) => written(group),
        Node::Text(text) => {
            let mut glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs).peekable();
            usize::from(glyphs.peek().is_some() && glyphs.all(|glyph| glyph.id.0 != 0))
        }
        Node::Path(_) | Node::Image(_) => 0,
    };
    group.children().iter().map(of).sum()
}

fn png(tree: &Tree) -> Result<Vec<u8>, NotDrawn> {
    let size = tree.size().to_int_size().scale_by(SHARPNESS).ok_or(NotDrawn::NoSize)?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or(NotDrawn::TooLarge)?;
    resvg::render(tree, Transform::from_scale(SHARPNESS, SHARPNESS), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| NotDrawn::Png(error.into()))
}

/// Letters are outlines: svg2pdf puts fonts into the file in an order that is another one each time.
fn pdf(tree: &Tree) -> Result<Vec<u8>, NotDrawn> {
    let options = ConversionOptions { embed_text: false, ..ConversionOptions::default() };
    Ok(svg2pdf::to_pdf(tree, options, PageOptions::default())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Line, Panel, Scheme};

    fn chart(title: &str) -> Chart {
        let line = Line::new("SWAN", Scheme::Swan, vec![(0.0, 1.0), (1.0, 2.0)]);
        Chart::single("fig", title, Panel::lines(Axis::linear("time (s)"), Axis::linear("MB/s"), vec![line]))
    }

    /// Dark pixels of the chart's title: letters, as nothing else is up there.
    fn ink(chart: &Chart) -> usize {
        let painter = Painter::new().expect("machines that build this have a font");
        let png = painter.paint(chart, PictureFormat::Png).unwrap_or_else(|error| panic!("{error}"));
        let pixels = Pixmap::decode_png(&png).expect("it is a PNG");
        assert_eq!(pixels.width() as f32 / SHARPNESS, Tree::from_str(&chart.svg(), &painter.0).unwrap().size().width());
        let rows = (40.0 * SHARPNESS) as usize;
        pixels.pixels()[..pixels.width() as usize * rows].iter().filter(|pixel| pixel.red() < 128).count()
    }

    #[test]
    fn pictures_have_texts() {
        assert!(ink(&chart("Writes over time")) > ink(&chart("W")) + 100);
    }

    #[test]
    fn the_same_chart_gives_the_same_bytes() {
        let painter = Painter::new().expect("machines that build this have a font");
        for format in PictureFormat::ALL {
            let paint = |title| painter.paint(&chart(title), format).unwrap_or_else(|error| panic!("{error}"));
            let first = paint("Writes");
            // What depends on a hash's order is not seen at once.
            assert!((0..8).all(|_| paint("Writes") == first), "{format:?}");
            assert!(paint("Writes over time").len() > first.len(), "{format:?}: letters are in it");
            assert!(!first.windows(12).any(|part| part == b"CreationDate"), "no dates");
        }
    }

    #[test]
    fn without_letters_there_is_no_picture() {
        assert!(matches!(Painter::with(Database::new()), Err(PictureError::NoFont)));
        let painter = Painter::new().expect("machines that build this have a font");
        // Of a private area, in which no font has letters.
        let error = painter.paint(&chart("\u{10fffd}"), PictureFormat::Png).unwrap_err();
        assert!(matches!(error, PictureError::NoLetters { lacking: 1, .. }), "{error}");
    }
}

//! Charts as PNG and PDF: what is drawn is the SVG, with the fonts of this machine.

/// What a chart may be drawn as besides SVG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Pixels, two for each of the SVG's in each direction.
    Png,
    /// Vectors, letters too.
    Pdf,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The program was built without.
    #[cfg(not(feature = "pictures"))]
    #[error("this program was built without PNG and PDF: build it with --features pictures, or leave out --charts")]
    NotBuilt,
    /// Nothing to write texts with.
    #[cfg(feature = "pictures")]
    #[error(
        "there is no font on this machine, so charts would have no texts: install one, such as Debian's fonts-dejavu-core"
    )]
    NoFont,
    /// The fonts that are there lack letters.
    #[cfg(feature = "pictures")]
    #[error(
        "chart {chart}: no font on this machine has the letters of {lacking} of its {texts} texts: install another one, such as Debian's fonts-dejavu-core"
    )]
    NoLetters {
        /// The chart's name.
        chart: String,
        /// Texts that would not be seen.
        lacking: usize,
        /// All texts.
        texts: usize,
    },
    /// The drawing could not be turned into it.
    #[cfg(feature = "pictures")]
    #[error("chart {chart} cannot be drawn: {why}")]
    Drawing {
        /// The chart's name.
        chart: String,
        /// What went wrong.
        why: NotDrawn,
    },
}

/// What went wrong when a drawing was turned into a picture.
#[cfg(feature = "pictures")]
#[derive(Debug, thiserror::Error)]
pub enum NotDrawn {
    /// The drawing is no SVG.
    #[error(transparent)]
    Svg(resvg::usvg::Error),
    /// There is nothing to draw.
    #[error("it has no size")]
    NoSize,
    /// Memory does not suffice for the pixels.
    #[error("it is too large for pixels")]
    TooLarge,
    /// The pixels are no PNG.
    #[error(transparent)]
    Png(Box<dyn std::error::Error + Send + Sync>),
    /// The drawing is no PDF.
    #[error(transparent)]
    Pdf(#[from] svg2pdf::ConversionError),
}

impl PictureFormat {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Png, Self::Pdf];

    /// What its files' names end with.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Pdf => "pdf",
        }
    }
}

/// Draws charts, where the program was built with that.
#[cfg(not(feature = "pictures"))]
pub enum Painter {}

#[cfg(not(feature = "pictures"))]
impl Painter {
    /// There is none.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> Result<Self, PictureError> {
        Err(PictureError::NotBuilt)
    }

    /// The chart's picture.
    ///
    /// # Errors
    /// Never, as there is no painter.
    pub fn paint(&self, _: &super::figure::Chart, _: PictureFormat) -> Result<Vec<u8>, PictureError> {
        match *self {}
    }
}

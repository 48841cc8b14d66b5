//! Colour for terminals, and nothing at all elsewhere.

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Plain text: no terminal, or the user asked for it.
    Plain,
    /// ANSI escape sequences around what has a tone.
    Colour,
}

/// What a piece of text means; how that looks is decided in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Plain, in the terminal's own colour.
    Normal,
    /// All is well.
    Good,
    /// An operator should look.
    Warning,
    /// Something is lost or out of service.
    Bad,
    /// The title of a table or a section.
    Heading,
    /// Less important.
    Faint,
}

impl Paint {
    /// The text in the tone's colour.
    pub fn tone(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Self::Plain, _) | (_, Tone::Normal) => return text.into(),
            (_, Tone::Good) => "32",
            (_, Tone::Warning) => "33",
            (_, Tone::Bad) => "1;31",
            (_, Tone::Heading) => "1",
            (_, Tone::Faint) => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

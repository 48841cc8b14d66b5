//! Writes SVG elements.

use std::fmt::Write;

/// Where a text's point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG file being written.
pub(super) struct Pen(String);

/// Colour of axes and texts; greys for what is not data.
pub(super) const INK: &str = "#222";
pub(super) const FAINT: &str = "#e3e3e3";
pub(super) const PUBLISHED: &str = "#8a8a8a";

/// With one decimal: a tenth of a pixel is finer than any screen.
pub(super) fn px(number: f64) -> String {
    format!("{:.1}", number + 0.0)
}

/// With what XML gives a meaning of its own escaped.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Pen {
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let (w, h) = (width.ceil(), height.ceil());
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"{}\">\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n",
            escape(title)
        ))
    }

    pub(super) fn end(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    fn element(&mut self, text: std::fmt::Arguments) {
        self.0.write_fmt(text).expect("strings take text");
        self.0.push('\n');
    }

    pub(super) fn rect(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), fill: &str) {
        let (x, y, w, h) = (px(x), px(y), px(w), px(h));
        self.element(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{fill}\"/>"));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, dashes: Option<&str>) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        let dashes = dashes.map_or(String::new(), |dashes| format!(" stroke-dasharray=\"{dashes}\""));
        self.element(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\"{dashes}/>"
        ));
    }

    /// White where a line comes, and a little around it.
    pub(super) fn rim(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.element(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"white\" stroke-width=\"2.4\" stroke-linecap=\"square\"/>"
        ));
    }

    pub(super) fn curve(&mut self, points: &[(f64, f64)], colour: &str, dashed: bool) {
        let points: Vec<String> = points.iter().map(|&(x, y)| format!("{},{}", px(x), px(y))).collect();
        let dashes = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        self.element(format_args!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" stroke-linejoin=\"round\"{dashes} \
             points=\"{}\"/>",
            points.join(" ")
        ));
    }

    /// What lies between two curves, faint enough for what is behind it to be seen.
    pub(super) fn band(&mut self, around: &[(f64, f64)], colour: &str) {
        let points: Vec<String> = around.iter().map(|&(x, y)| format!("{},{}", px(x), px(y))).collect();
        self.element(format_args!(
            "<polygon fill=\"{colour}\" fill-opacity=\"0.22\" points=\"{}\"/>",
            points.join(" ")
        ));
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, text) = (px(x), px(y), escape(text));
        self.element(format_args!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {style}>{text}</text>"));
    }

    /// A text that reads upwards.
    pub(super) fn upwards(&mut self, (x, y): (f64, f64), text: &str) {
        let (x, y, text) = (px(x), px(y), escape(text));
        self.element(format_args!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\" fill=\"{INK}\">{text}</text>"
        ));
    }

    /// What is drawn until [`Pen::leave`] stays inside the rectangle.
    pub(super) fn enter(&mut self, id: usize, (x, y): (f64, f64), (w, h): (f64, f64)) {
        let (x, y, w, h) = (px(x), px(y), px(w), px(h));
        self.element(format_args!(
            "<clipPath id=\"c{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\
             <g clip-path=\"url(#c{id})\">"
        ));
    }

    pub(super) fn leave(&mut self) {
        self.element(format_args!("</g>"));
    }
}

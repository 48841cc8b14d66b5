//! Names of what was published, in a panel: each where no other one is, on a ground of its own, so that no curve crosses them.

use super::axis::Placed;
use super::figure::Mark;
use super::panel::Frame;
use super::pen::{Anchor, PUBLISHED, Pen};

/// About how wide a letter of 11 pixels is, and how far apart lines of text are.
const LETTER: f64 = 5.6;
const LINE: f64 = 13.0;
/// From a mark to its name.
const APART: f64 = 4.0;

/// Where a text is: its ends, and its foot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    from: f64,
    to: f64,
    foot: f64,
}

impl Place {
    fn meets(self, other: Place) -> bool {
        self.from < other.to && other.from < self.to && (self.foot - other.foot).abs() < LINE
    }
}

pub(super) fn draw(pen: &mut Pen, marks: &[Mark], frame: &Frame, x: Option<&Placed>, y: &Placed) {
    let ink = format!("fill=\"{PUBLISHED}\" font-size=\"11\" font-style=\"italic\"");
    // A white line around each letter, below it: what is behind a name does not strike it through.
    let style = format!("{ink} stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"");
    let mut taken: Vec<Place> = Vec::new();
    for mark in marks {
        let Some((label, anchor, wished)) = wish(mark, frame, x, y) else { continue };
        let place = free(wished, frame, &taken);
        let at = if anchor == Anchor::End { place.to } else { place.from };
        pen.text((at, place.foot), anchor, &style, label);
        taken.push(place);
    }
}

/// A mark's name, and where it would be were it the only one; nothing of a mark without a name.
fn wish<'a>(mark: &'a Mark, frame: &Frame, x: Option<&Placed>, y: &Placed) -> Option<(&'a str, Anchor, Place)> {
    let wide = |label: &str| label.chars().count() as f64 * LETTER;
    let (label, anchor, place) = match mark {
        Mark::Band { to: at, label, .. } | Mark::Level { at, label } => {
            let to = frame.right() - APART;
            (label, Anchor::End, Place { from: to - wide(label), to, foot: y.at(*at) - APART })
        }
        Mark::Moment { at, label } => {
            let at = x?.at(*at);
            let from = at + APART;
            let place = Place { from, to: from + wide(label), foot: frame.top + 11.0 };
            // To the left of its line where there is no room on the right.
            let place = match place.to > frame.right() {
                true => Place { from: at - APART - wide(label), to: at - APART, ..place },
                false => place,
            };
            (label, if place.from < at { Anchor::End } else { Anchor::Start }, place)
        }
    };
    (!label.is_empty()).then_some((label, anchor, place))
}

/// The nearest place below the one that is wished, or above it, in which no other name is; inside the panel.
fn free(wished: Place, frame: &Frame, taken: &[Place]) -> Place {
    let lowest = frame.bottom() - APART;
    let highest = frame.top + 9.0;
    let start = Place { foot: wished.foot.clamp(highest, lowest.max(highest)), ..wished };
    let steps = (frame.height / LINE) as i32;
    let moved = |n: i32| Place { foot: start.foot + f64::from(n) * LINE, ..start };
    let inside = |place: &Place| (highest..=lowest).contains(&place.foot);
    let by_distance = (0..=steps).flat_map(|n| [moved(n), moved(-n)]);
    by_distance.filter(inside).find(|place| !taken.iter().any(|other| place.meets(*other))).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Chart, Line, Mark, Panel, Scheme};

    /// Where the text begins to be written, and its foot.
    fn place(svg: &str, text: &str) -> (f64, f64) {
        let end = svg.find(&format!(">{text}</text>")).unwrap_or_else(|| panic!("{text} is missing"));
        let element = &svg[svg[..end].rfind("<text").expect("a text begins")..end];
        let number = |name: &str| {
            let at = element.find(&format!("{name}=\"")).expect("a text has a place") + name.len() + 2;
            element[at..].split('"').next().and_then(|number| number.parse().ok()).expect("it is a number")
        };
        (number(" x"), number(" y"))
    }

    fn svg(marks: Vec<Mark>) -> String {
        let line = Line::new("SWAN", Scheme::Swan, vec![(0.0, 10.0), (10.0, 100.0)]);
        Chart::single("fig", "", Panel::lines(Axis::linear("s"), Axis::linear("MB/s"), vec![line]).marked(marks)).svg()
    }

    #[test]
    fn names_of_marks_at_the_same_height_stand_below_one_another() {
        let level = |at: f64, label: &str| Mark::Level { at, label: label.into() };
        let svg = svg(vec![level(50.0, "one of them"), level(51.0, "another one")]);
        let (one, other) = (place(&svg, "one of them"), place(&svg, "another one"));
        assert!((one.1 - other.1).abs() >= 11.0, "{one:?} {other:?}");
    }

    #[test]
    fn a_name_stays_inside_its_panel() {
        let moment = |at: f64, label: &str| Mark::Moment { at, label: label.into() };
        let svg = svg(vec![moment(1.0, "early"), moment(9.9, "at the very end")]);
        let (early, late) = (place(&svg, "early"), place(&svg, "at the very end"));
        assert_eq!(early.1, late.1, "they are far from each other");
        let drawn = svg.find(">at the very end<").expect("it is there");
        let element = &svg[svg[..drawn].rfind("<text").expect("a text begins")..drawn];
        assert!(element.contains("text-anchor=\"end\""), "{element}");
    }
}

//! Names of what was published, in a panel: each beside its mark, where neither another name nor data is if there is such a place, and
//! on a ground of its own, so that nothing strikes it through where there is none.

use super::axis::Placed;
use super::figure::Mark;
use super::pen::{Anchor, PUBLISHED, Pen};

/// About how wide a letter of 11 pixels is, and how far it reaches above its foot and below.
const LETTER: f64 = 5.6;
const ABOVE: f64 = 9.0;
const BELOW: f64 = 3.0;
/// How far apart lines of text are.
const LINE: f64 = 13.0;
/// From a mark to its name.
const APART: f64 = 4.0;
/// Lines by which a name may be moved away from its mark to be clear of data: farther away, nobody knows what it names.
const NEAR: i32 = 3;
/// Pieces of a curve are as wide as this at most where it is asked whether a name meets it.
const PIECE: f64 = 6.0;

/// A part of the panel in which something is drawn; or the panel itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Area {
    fn meets(self, other: Area) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// Around the pieces of a curve.
    pub(super) fn along(curve: &[(f64, f64)]) -> Vec<Area> {
        curve.windows(2).flat_map(|ends| Self::between(ends[0], ends[1])).collect()
    }

    fn between((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> impl Iterator<Item = Area> {
        let pieces = ((x2 - x1).abs() / PIECE).ceil().max(1.0);
        let at = move |n: f64| (x1 + (x2 - x1) * n / pieces, y1 + (y2 - y1) * n / pieces);
        (0..pieces as u32).map(move |n| {
            let ((x, y), (to_x, to_y)) = (at(f64::from(n)), at(f64::from(n) + 1.0));
            Area { left: x.min(to_x), right: x.max(to_x), top: y.min(to_y), bottom: y.max(to_y) }
        })
    }
}

/// Where a text is: its ends, its foot, and which end is given.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    from: f64,
    to: f64,
    foot: f64,
    anchor: Anchor,
}

impl Place {
    fn area(self) -> Area {
        Area { left: self.from, right: self.to, top: self.foot - ABOVE, bottom: self.foot + BELOW }
    }

    fn lower(self, lines: i32) -> Place {
        Place { foot: self.foot + f64::from(lines) * LINE, ..self }
    }
}

pub(super) fn draw(pen: &mut Pen, marks: &[Mark], frame: Area, (x, y): (Option<&Placed>, &Placed), data: &[Area]) {
    let ink = format!("fill=\"{PUBLISHED}\" font-size=\"11\" font-style=\"italic\"");
    // A white line around each letter, below it.
    let style = format!("{ink} stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"");
    let mut taken: Vec<Area> = Vec::new();
    for mark in marks {
        let Some((label, wished)) = wishes(mark, frame, x, y) else { continue };
        let place = free(&wished, frame, &taken, data);
        let at = if place.anchor == Anchor::End { place.to } else { place.from };
        pen.text((at, place.foot), place.anchor, &style, label);
        taken.push(place.area());
    }
}

/// A mark's name, and where it would be best, the best place first; nothing of a mark without a name.
fn wishes<'a>(mark: &'a Mark, frame: Area, x: Option<&Placed>, y: &Placed) -> Option<(&'a str, Vec<Place>)> {
    let wide = |label: &str| label.chars().count() as f64 * LETTER;
    let ends_at = |to: f64, foot, label: &str| Place { from: to - wide(label), to, foot, anchor: Anchor::End };
    let begins_at = |from: f64, foot, label: &str| Place { from, to: from + wide(label), foot, anchor: Anchor::Start };
    let (label, places) = match mark {
        Mark::Band { to: at, label, .. } | Mark::Level { at, label } => {
            let foot = y.at(*at) - APART;
            let right = ends_at(frame.right - APART, foot, label);
            (label, vec![right, begins_at(frame.left + APART, foot, label)])
        }
        Mark::Moment { at, label } => {
            let (at, foot) = (x?.at(*at), frame.top + 11.0);
            let right = begins_at(at + APART, foot, label);
            // To the left of its line where there is no room on the right.
            (label, vec![if right.to > frame.right { ends_at(at - APART, foot, label) } else { right }])
        }
    };
    (!label.is_empty()).then_some((label.as_str(), places))
}

/// The place nearest to one that is wished in which nothing is; if there is none near, nearest in which no other name is. Inside the panel.
fn free(wished: &[Place], frame: Area, taken: &[Area], data: &[Area]) -> Place {
    let highest = frame.top + ABOVE;
    let lowest = (frame.bottom - APART).max(highest);
    let start: Vec<Place> =
        wished.iter().map(|place| Place { foot: place.foot.clamp(highest, lowest), ..*place }).collect();
    let inside = |place: &Place| (highest..=lowest).contains(&place.foot);
    let by_distance = |most: i32| {
        let at = |n: i32| start.iter().map(move |place| place.lower(n));
        (0..=most).flat_map(move |n| at(n).chain(at(-n))).filter(inside)
    };
    let is_clear = |place: &Place, of: &[Area]| !of.iter().any(|area| place.area().meets(*area));
    let clear = by_distance(NEAR).find(|place| is_clear(place, taken) && is_clear(place, data));
    clear
        .or_else(|| by_distance(((frame.bottom - frame.top) / LINE) as i32).find(|place| is_clear(place, taken)))
        .unwrap_or(start[0])
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
    fn names_of_marks_at_the_same_height_stand_clear_of_one_another() {
        let names = ["one of them", "another one", "a third one", "and a fourth"];
        let level = |(n, name): (usize, &&str)| Mark::Level { at: 50.0 + n as f64, label: (*name).into() };
        let svg = svg(names.iter().enumerate().map(level).collect());
        let places = names.map(|name| place(&svg, name));
        for (n, one) in places.iter().enumerate() {
            for other in &places[..n] {
                let beside = (one.0 - other.0).abs() > 100.0;
                assert!(beside || (one.1 - other.1).abs() >= super::LINE - 0.5, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_name_is_where_no_curve_is() {
        let curve = vec![(0.0, 52.0), (10.0, 52.0)];
        let axis = Axis::linear("MB/s").between(0.0, 100.0);
        let panel = Panel::lines(Axis::linear("s"), axis, vec![Line::new("SWAN", Scheme::Swan, curve)]);
        let marks = vec![Mark::Level { at: 50.0, label: "published".into() }];
        let svg = Chart::single("fig", "", panel.marked(marks)).svg();
        let points = svg.split("<polyline").nth(1).and_then(|curve| curve.split("points=\"").nth(1)).expect("a curve");
        let y: f64 = points.split([',', ' ']).nth(1).and_then(|y| y.parse().ok()).expect("a point has two numbers");
        let foot = place(&svg, "published").1;
        assert!(foot < y || foot - super::ABOVE > y, "the curve is at {y}, and the name stands on {foot}");
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

//! A topology as a picture.

use std::fmt::Write;
use std::ops::Range;

use cygnus_types::counted;

use crate::topology::{Kind, ROOT, Topology};
use crate::wires::{Carrier, Wires};

const ROW: u32 = 18;
const MARGIN: u32 = 20;
/// Between a box and the next column's, for what is written on links.
const GAP: u32 = 80;
const NARROWEST: u32 = 110;
const HEIGHT: u32 = 14;
/// Widths of a letter in boxes and in the heading: most letters of most fonts are narrower.
const LETTER: u32 = 6;
const LARGE_LETTER: u32 = 8;

/// A node's place: its column and, in half rows, its middle.
struct Place {
    column: u32,
    middle: u32,
}

/// How wide boxes are, and of each node how far from the root complex it is and in which rows.
struct Plan {
    width: u32,
    depths: Vec<u32>,
    rows: Vec<Range<u32>>,
}

/// Letters of a text; those of scripts that have a square for each, which begin there, count twice.
fn letters(text: &str) -> u32 {
    const SQUARES: char = '\u{1100}';
    text.chars().map(|letter| if letter < SQUARES { 1 } else { 2 }).sum()
}

impl Topology {
    /// Draws it: the root complex on the left, links with their width and generation or their rate, endpoints with their modules. The
    /// share of time for which a cluster's bus was taken, from 0 to 1, colours it from white to red; `None` leaves all white.
    pub fn to_svg(&self, loads: Option<&[f64]>) -> String {
        let plan = self.plan();
        let heading = self.heading(loads.is_some());
        let deepest = plan.depths.iter().max().copied().unwrap_or(0);
        let width = (deepest * (plan.width + GAP) + plan.width).max(letters(&heading) * LARGE_LETTER) + MARGIN * 2;
        let height = MARGIN * 3 + plan.rows[ROOT as usize].end * ROW;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{MARGIN}\" y=\"{MARGIN}\" font-size=\"13\">{}</text>\n",
            escaped(&heading)
        );
        for node in 1..self.nodes.len() {
            self.draw_link(&mut out, node, &plan);
        }
        // Above all links, since many of them lead past it.
        for node in 1..self.nodes.len() {
            self.label_link(&mut out, node, &plan);
        }
        for node in 0..self.nodes.len() {
            self.draw_node(&mut out, node, &plan, loads);
        }
        out + "</svg>\n"
    }

    fn heading(&self, is_coloured: bool) -> String {
        let colours =
            if is_coloured { ": from white, whose bus was idle, to red, whose bus was always taken" } else { "" };
        format!("{}{colours}", self.name)
    }

    fn plan(&self) -> Plan {
        let longest = (0..self.nodes.len()).map(|node| letters(&self.label(node))).max().unwrap_or(0);
        Plan { width: (longest * LETTER + 8).max(NARROWEST), depths: self.depths(), rows: self.rows() }
    }

    /// What stands in a node's box.
    fn label(&self, node: usize) -> String {
        let about = &self.nodes[node];
        let what = match about.kind {
            Kind::Root => format!("queue {}", self.root.queue),
            Kind::Switch { buffer, .. } => format!("buffer {buffer}"),
            Kind::Endpoint { cluster } => counted(self.clusters[cluster as usize].modules, "module").to_string(),
        };
        format!("{}, {what}", about.name)
    }

    /// Links between each node and the root complex.
    fn depths(&self) -> Vec<u32> {
        let depth = |node: usize| {
            let (mut at, mut depth) = (node as u32, 0);
            while at != ROOT {
                at = self.links[self.nodes[at as usize].uplink as usize].upper;
                depth += 1;
            }
            depth
        };
        (0..self.nodes.len()).map(depth).collect()
    }

    /// Rows of each node: of clusters and of switches without any one each, of others those of what is below.
    fn rows(&self) -> Vec<Range<u32>> {
        let mut below = vec![Vec::new(); self.nodes.len()];
        let mut lower: Vec<usize> = (1..self.nodes.len()).collect();
        lower.sort_by_key(|&node| self.nodes[node].uplink);
        for node in lower {
            below[self.links[self.nodes[node].uplink as usize].upper as usize].push(node);
        }
        let (mut rows, mut next) = (vec![0..0; self.nodes.len()], 0);
        // Each node comes twice: before what is below it, and behind that.
        let mut ahead = vec![(ROOT as usize, false)];
        while let Some((node, is_behind)) = ahead.pop() {
            if is_behind {
                next = next.max(rows[node].start + 1);
                rows[node].end = next;
                continue;
            }
            rows[node].start = next;
            ahead.push((node, true));
            ahead.extend(below[node].iter().rev().map(|&node| (node, false)));
        }
        rows
    }

    fn place(&self, node: usize, plan: &Plan) -> Place {
        let rows = &plan.rows[node];
        let column = MARGIN + plan.depths[node] * (plan.width + GAP);
        Place { column, middle: MARGIN * 2 + (rows.start + rows.end) * ROW / 2 }
    }

    fn draw_link(&self, out: &mut String, node: usize, plan: &Plan) {
        let link = &self.links[self.nodes[node].uplink as usize];
        let (from, to) = (self.place(link.upper as usize, plan), self.place(node, plan));
        let (x1, x2) = (from.column + plan.width, to.column);
        let (wires, name) = (link.wires.label(), &link.name);
        writeln!(
            out,
            "<line x1=\"{x1}\" y1=\"{}\" x2=\"{x2}\" y2=\"{}\" stroke=\"#666\" stroke-width=\"{}\"><title>{}</title></line>",
            from.middle,
            to.middle,
            thickness(&link.wires),
            escaped(&format!("{name}: {wires}")),
        )
        .expect("strings take text");
    }

    /// What a link is, before its lower end; with a rim of white, by which it can be read where it lies on links.
    fn label_link(&self, out: &mut String, node: usize, plan: &Plan) {
        let Place { column, middle } = self.place(node, plan);
        writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"8\" fill=\"#444\" stroke=\"white\" stroke-width=\"2.5\" \
             stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            column - 4,
            middle + 3,
            self.links[self.nodes[node].uplink as usize].wires.label(),
        )
        .expect("strings take text");
    }

    fn draw_node(&self, out: &mut String, node: usize, plan: &Plan, loads: Option<&[f64]>) {
        let Place { column, middle } = self.place(node, plan);
        let fill = match self.nodes[node].kind {
            Kind::Root => "#cfe0f5".into(),
            Kind::Switch { .. } => "#dfeedd".into(),
            Kind::Endpoint { cluster } => heat(loads.map_or(0.0, |loads| loads[cluster as usize].clamp(0.0, 1.0))),
        };
        writeln!(
            out,
            "<rect x=\"{column}\" y=\"{}\" width=\"{}\" height=\"{HEIGHT}\" rx=\"2\" fill=\"{fill}\" stroke=\"#333\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            middle - HEIGHT / 2,
            plan.width,
            column + 4,
            middle + 4,
            escaped(&self.label(node))
        )
        .expect("strings take text");
    }
}

/// Links of more lanes are thicker.
fn thickness(wires: &Wires) -> u32 {
    match wires.carrier {
        Carrier::Pcie(lanes) => 1 + u32::from(lanes.width) / 8,
        Carrier::Ethernet(_) => 1,
    }
}

/// From white to red.
fn heat(load: f64) -> String {
    let rest = (255.0 * (1.0 - load)).round() as u8;
    format!("#ff{rest:02x}{rest:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_the_picture_once() {
        let topology = Topology::from_shorthand("2x3").unwrap();
        let svg = topology.to_svg(Some(&[0.0, 0.5, 1.0, 0.0, 0.0, 7.0]));
        assert_eq!(svg.matches("<rect x=").count(), 1 + 2 + 6);
        assert_eq!(svg.matches("<line ").count(), 2 + 6);
        let (lines, labels) = (svg.rfind("<line "), svg.find("text-anchor"));
        assert!(lines < labels, "labels lie on links, and not below them");
        assert!(svg.contains("#ffffff") && svg.contains("#ff8080") && svg.matches("#ff0000").count() == 2);
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    }

    #[test]
    fn texts_have_room() {
        let long = "a switch that somebody gave a long name";
        let text = format!(
            "name = \"t\"\n[root]\nname = \"r\"\n[[switch]]\nname = \"{long}\"\n[[endpoint]]\nname = \"e\"\n\
             [[link]]\nname = \"a\"\nup = \"r\"\ndown = \"{long}\"\n[[link]]\nname = \"b\"\nup = \"{long}\"\ndown = \"e\"\n"
        );
        let topology = Topology::parse("t", &text).unwrap();
        let number = |svg: &str, after: &str| -> u32 {
            let (_, rest) = svg.split_once(after).expect("it is there");
            rest.split('"').next().and_then(|number| number.parse().ok()).expect("it is a number")
        };
        let svg = topology.to_svg(None);
        let boxes: Vec<_> = svg.lines().filter(|line| line.starts_with("<rect x=")).collect();
        let ends: Vec<_> = boxes.iter().map(|at| (number(at, "x=\""), number(at, " width=\""))).collect();
        assert!(ends[1].1 >= letters(&topology.label(1)) * LETTER, "the switch's name fits into its box: {svg}");
        assert!(ends.windows(2).all(|two| two[0].0 + two[0].1 + GAP <= two[1].0), "boxes stand apart: {svg}");
        let coloured = Topology::from_shorthand("1x1").unwrap().to_svg(Some(&[0.5]));
        let heading = Topology::from_shorthand("1x1").unwrap().heading(true);
        assert!(number(&coloured, "width=\"") >= MARGIN + letters(&heading) * LARGE_LETTER, "the heading is whole");
    }

    #[test]
    fn switches_without_clusters_have_places_of_their_own() {
        let link = |name: &str, up: &str, down: &str| {
            format!("[[link]]\nname = \"{name}\"\nup = \"{up}\"\ndown = \"{down}\"\n")
        };
        let switches = ["a", "b", "c"].map(|name| format!("[[switch]]\nname = \"{name}\"\n")).concat();
        let links = [link("1", "r", "a"), link("2", "r", "e"), link("3", "r", "b"), link("4", "b", "c")].concat();
        let text = format!("name = \"t\"\n[root]\nname = \"r\"\n{switches}[[endpoint]]\nname = \"e\"\n{links}");
        let topology = Topology::parse("t", &text).unwrap();
        let svg = topology.to_svg(None);
        let boxes = svg.lines().filter_map(|line| line.strip_prefix("<rect x=\"")?.split_once(" width"));
        let places: std::collections::BTreeSet<_> = boxes.map(|(place, _)| place.to_owned()).collect();
        assert_eq!(places.len(), 5, "{svg}");
        assert_eq!(topology.rows(), [0..3, 0..1, 2..3, 2..3, 1..2]);
    }

    #[test]
    fn names_cannot_break_it() {
        let text = "name = \"<&>\"\n[root]\nname = \"r\"\n[[endpoint]]\nname = \"<e\"\n[[link]]\nname = \"\\\"\"\nup = \"r\"\ndown = \"<e\"\n";
        let svg = Topology::parse("t", text).unwrap().to_svg(None);
        assert!(svg.contains("&lt;&amp;&gt;") && svg.contains("&lt;e, 4 modules") && !svg.contains("<e"));
    }
}

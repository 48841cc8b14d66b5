//! A topology as a picture.

use std::fmt::Write;

use cygnus_types::counted;

use crate::topology::{Kind, ROOT, Topology};
use crate::wires::{Carrier, Wires};

const COLUMN: u32 = 190;
const ROW: u32 = 18;
const MARGIN: u32 = 20;
const BOX: u32 = 110;
const HEIGHT: u32 = 14;

/// A node's place: its column and, in half rows, its middle.
struct Place {
    column: u32,
    middle: u32,
}

impl Topology {
    /// Draws it: the root complex on the left, links with their width and generation or their rate, endpoints with their modules. The
    /// share of time for which a cluster's bus was taken, from 0 to 1, colours it from white to red; `None` leaves all white.
    pub fn to_svg(&self, loads: Option<&[f64]>) -> String {
        let depths = self.depths();
        let columns = depths.iter().max().map_or(1, |deepest| deepest + 1);
        let (width, height) =
            (MARGIN * 2 + (columns - 1) * COLUMN + BOX, MARGIN * 3 + self.clusters.len() as u32 * ROW);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{MARGIN}\" y=\"{MARGIN}\" font-size=\"13\">{}</text>\n",
            escaped(&self.heading(loads.is_some()))
        );
        for node in 1..self.nodes.len() {
            self.draw_link(&mut out, node, &depths);
        }
        for node in 0..self.nodes.len() {
            self.draw_node(&mut out, node, &depths, loads);
        }
        out + "</svg>\n"
    }

    fn heading(&self, is_coloured: bool) -> String {
        let colours =
            if is_coloured { ": from white, whose bus was idle, to red, whose bus was always taken" } else { "" };
        format!("{}{colours}", self.name)
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

    fn place(&self, node: usize, depths: &[u32]) -> Place {
        let clusters = &self.nodes[node].clusters;
        Place { column: MARGIN + depths[node] * COLUMN, middle: MARGIN * 2 + (clusters.start + clusters.end) * ROW / 2 }
    }

    fn draw_link(&self, out: &mut String, node: usize, depths: &[u32]) {
        let link = &self.links[self.nodes[node].uplink as usize];
        let (from, to) = (self.place(link.upper as usize, depths), self.place(node, depths));
        let (x1, x2) = (from.column + BOX, to.column);
        let (wires, name) = (link.wires.label(), &link.name);
        writeln!(
            out,
            "<line x1=\"{x1}\" y1=\"{}\" x2=\"{x2}\" y2=\"{}\" stroke=\"#666\" stroke-width=\"{}\"><title>{}</title></line>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"8\" fill=\"#444\">{wires}</text>",
            from.middle,
            to.middle,
            thickness(&link.wires),
            escaped(&format!("{name}: {wires}")),
            x2 - 4,
            to.middle - 3,
        )
        .expect("strings take text");
    }

    fn draw_node(&self, out: &mut String, node: usize, depths: &[u32], loads: Option<&[f64]>) {
        let Place { column, middle } = self.place(node, depths);
        let about = &self.nodes[node];
        let (label, fill) = match about.kind {
            Kind::Root => (format!("{}, queue {}", about.name, self.root.queue), "#cfe0f5".into()),
            Kind::Switch { buffer, .. } => (format!("{}, buffer {buffer}", about.name), "#dfeedd".into()),
            Kind::Endpoint { cluster } => {
                let load = loads.map_or(0.0, |loads| loads[cluster as usize].clamp(0.0, 1.0));
                let modules = self.clusters[cluster as usize].modules;
                (format!("{}, {}", about.name, counted(modules, "module")), heat(load))
            }
        };
        writeln!(
            out,
            "<rect x=\"{column}\" y=\"{}\" width=\"{BOX}\" height=\"{HEIGHT}\" rx=\"2\" fill=\"{fill}\" stroke=\"#333\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            middle - HEIGHT / 2,
            column + 4,
            middle + 4,
            escaped(&label)
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
        assert!(svg.contains("#ffffff") && svg.contains("#ff8080") && svg.matches("#ff0000").count() == 2);
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    }

    #[test]
    fn names_cannot_break_it() {
        let text = "name = \"<&>\"\n[root]\nname = \"r\"\n[[endpoint]]\nname = \"<e\"\n[[link]]\nname = \"\\\"\"\nup = \"r\"\ndown = \"<e\"\n";
        let svg = Topology::parse("t", text).unwrap().to_svg(None);
        assert!(svg.contains("&lt;&amp;&gt;") && svg.contains("&lt;e, 4 modules") && !svg.contains("<e"));
    }
}

//! Draws a stepped heat map.

use super::heat::{Heat, MOST_STEPS};
use super::panel::{Frame, short};
use super::pen::{Anchor, INK, Pen};

/// Colours from least to most, told apart by the colour-blind and in grey.
const COLOURS: [&str; MOST_STEPS + 1] = ["#fff7ec", "#fdd49e", "#fdbb84", "#fc8d59", "#d7301f", "#7f0000"];
/// From this colour on ink is white.
const DARK: usize = 4;

pub(super) fn draw(pen: &mut Pen, heat: &Heat, frame: &Frame) {
    let (wide, high) = (frame.width / heat.columns.len() as f64, frame.height / heat.rows.len() as f64);
    for (n, &value) in heat.values.iter().enumerate() {
        let (x, y) =
            (frame.left + (n % heat.columns.len()) as f64 * wide, frame.top + (n / heat.columns.len()) as f64 * high);
        let step = heat.step(value);
        pen.rect((x + 0.5, y + 0.5), (wide - 1.0, high - 1.0), COLOURS[step]);
        let ink = if step >= DARK { "#fff" } else { INK };
        let style = format!("fill=\"{ink}\" font-size=\"10\"");
        pen.text((x + wide / 2.0, y + high / 2.0 + 4.0), Anchor::Middle, &style, &short(value));
    }
    let ink = format!("fill=\"{INK}\"");
    for (n, name) in heat.columns.iter().enumerate() {
        pen.text((frame.left + (n as f64 + 0.5) * wide, frame.bottom() + 17.0), Anchor::Middle, &ink, name);
    }
    for (n, name) in heat.rows.iter().enumerate() {
        pen.text((frame.left - 6.0, frame.top + (n as f64 + 0.5) * high + 4.0), Anchor::End, &ink, name);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Chart, Panel};
    use super::*;

    #[test]
    fn cells_have_the_colour_of_their_step_and_their_number() {
        let heat = Heat {
            columns: vec!["a".into(), "b".into()],
            rows: vec!["x".into()],
            values: vec![0.5, 9.0],
            steps: vec![1.0, 2.0, 4.0, 8.0],
        };
        assert_eq!([0.0, 1.0, 7.9, 8.0, 99.0].map(|value| heat.step(value)), [0, 1, 3, 4, 4]);
        let panel = Panel::heat(Axis::linear("cluster"), Axis::linear("switch"), heat);
        let chart = Chart::single("heat", "", panel);
        let svg = chart.svg();
        assert!(svg.contains(COLOURS[0]) && svg.contains(COLOURS[4]) && svg.contains("9.00"), "{svg}");
        assert_eq!(chart.csv(), "panel,series,x,y,low,high\n,x,a,0.5,,\n,x,b,9,,\n");
    }
}

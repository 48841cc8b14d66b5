//! One curve of those that several seeds gave: medians, with the interval around each.

use super::figure::Line;
use crate::interval::Interval;

/// A curve's points, from left to right.
type Points = Vec<(f64, f64)>;

/// The curve of all seeds. Its points lie where the first seed's do; other seeds may have points elsewhere (a percentile falls
/// where a seed's requests put it), and then count as high as their curve is drawn there. What lies to the left or to the right of a
/// seed's whole curve is left out: nothing is known of that seed there, and a median of the others would be another number.
pub(super) fn merged(first: &Line, by_seed: &[Points]) -> Line {
    if by_seed.len() < 2 {
        return first.clone();
    }
    let (mut points, mut spread) = (Vec::new(), Vec::new());
    for (n, &(x, own)) in first.points.iter().enumerate() {
        let height = |(seed, of): (usize, &Points)| match of.get(n) {
            _ if seed == 0 => Some(own),
            Some(&(at, height)) if at == x => Some(height),
            _ => height_at(of, x),
        };
        let Some(heights) = by_seed.iter().enumerate().map(height).collect::<Option<Vec<f64>>>() else { continue };
        let interval = Interval::of(&heights);
        points.push((x, interval.median));
        spread.push((interval.low, interval.high));
    }
    Line { points, spread, ..first.clone() }
}

/// How high the line through the points is at `x`; nothing beyond its ends.
fn height_at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let after = points.partition_point(|point| point.0 < x);
    match (after.checked_sub(1).map(|before| points[before]), points.get(after)) {
        (_, Some(&(at, height))) if at == x => Some(height),
        (Some((left, low)), Some(&(right, high))) => Some(low + (high - low) * (x - left) / (right - left)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scheme;

    fn curve(by_seed: &[Points]) -> (Points, Points) {
        let line = merged(&Line::new("SWAN", Scheme::Swan, by_seed[0].clone()), by_seed);
        (line.points, line.spread)
    }

    #[test]
    fn each_point_is_the_median_between_the_ends_of_its_interval() {
        let seeds = [4.0, 1.0, 2.0].map(|height| vec![(0.0, height), (1.0, 2.0 * height)]);
        assert_eq!(curve(&seeds), (vec![(0.0, 2.0), (1.0, 4.0)], vec![(1.0, 4.0), (2.0, 8.0)]));
    }

    #[test]
    fn a_seed_without_a_point_there_counts_as_its_curve_is_drawn() {
        let seeds = [vec![(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)], vec![(0.0, 0.0), (2.0, 4.0)]];
        assert_eq!(curve(&seeds), (vec![(0.0, 0.5), (1.0, 1.5), (2.0, 2.5)], vec![(0.0, 1.0), (1.0, 2.0), (1.0, 4.0)]));
    }

    #[test]
    fn what_some_seed_knows_nothing_of_is_left_out() {
        let seeds = [vec![(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)], vec![(1.0, 3.0), (1.5, 3.0)]];
        assert_eq!(curve(&seeds), (vec![(1.0, 2.0)], vec![(1.0, 3.0)]));
    }

    #[test]
    fn one_seed_has_no_interval() {
        assert_eq!(curve(&[vec![(0.0, 1.0)]]), (vec![(0.0, 1.0)], Vec::new()));
    }
}

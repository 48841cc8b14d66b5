use super::*;

fn chart() -> Chart {
    let line = |name, scheme, at: f64| Line::new(name, scheme, (0..5).map(|n| (f64::from(n), at)).collect());
    let lines = vec![line("SWAN", Scheme::Swan, 800.0), line("Log-RAID", Scheme::LogRaid, 400.0)];
    let panel = Panel::lines(Axis::linear("time (s)"), Axis::linear("MB/s"), lines);
    Chart::single("fig", "Writes & reads", panel.marked(vec![Mark::Level { at: 500.0, label: "paper".into() }]))
}

#[test]
fn a_chart_has_axes_units_legend_and_what_was_published() {
    let svg = chart().svg();
    for part in ["time (s)", "MB/s", "SWAN", "Log-RAID", "paper", "Writes &amp; reads", Scheme::Swan.colour()] {
        assert!(svg.contains(part), "{part} is missing");
    }
    assert_eq!(svg.matches("<polyline").count(), 2);
}

#[test]
fn a_higher_value_is_drawn_higher() {
    let svg = chart().svg();
    let first_y = |curve: &str| -> f64 {
        let points = curve.split("points=\"").nth(1).expect("a curve has points");
        points.split([',', ' ']).nth(1).and_then(|y| y.parse().ok()).expect("a point has two numbers")
    };
    let curves: Vec<&str> = svg.split("<polyline").skip(1).collect();
    assert!(first_y(curves[0]) < first_y(curves[1]));
}

#[test]
fn points_and_bars_are_a_table() {
    assert!(chart().csv().starts_with("panel,series,x,y,low,high\n,SWAN,0,800,,\n,SWAN,1,800,,\n"));
    let bars = vec![Bars::new("SWAN", Scheme::Swan, vec![1.5, 0.25])];
    let panel = Panel::bars(Axis::linear("ms"), vec!["A".into(), "B, C".into()], bars);
    let csv = Chart::single("bars", "", panel.titled("one")).csv();
    assert_eq!(csv, "panel,series,x,y,low,high\none,SWAN,A,1.5,,\none,SWAN,\"B, C\",0.25,,\n");
}

#[test]
fn many_points_of_one_pixel_keep_their_extremes() {
    let points = (0..100_000).map(|n| (f64::from(n), if n == 5000 { 9.0 } else { 1.0 })).collect();
    let panel = Panel::lines(Axis::linear("s"), Axis::linear("ms"), vec![Line::new("x", Scheme::Raw, points)]);
    let svg = Chart::single("many", "", panel).svg();
    assert!(svg.len() < 200_000, "{}", svg.len());
    let spike = svg.split("points=\"").nth(1).expect("a curve").split(' ').filter_map(|point| point.split_once(','));
    let highest = spike.filter_map(|(_, y)| y.trim_end_matches("\"/>\n</g>").parse::<f64>().ok()).fold(1e9, f64::min);
    assert!(highest < 100.0, "{highest}");
}

#[test]
fn bars_of_several_seeds_are_medians_with_whiskers() {
    let chart = |height: f64| {
        let bars = vec![Bars::new("SWAN", Scheme::Swan, vec![height])];
        vec![Chart::single("bars", "", Panel::bars(Axis::linear("ms"), vec!["A".into()], bars))]
    };
    let (one, seeds) = (chart(2.0), [chart(1.0), chart(4.0), chart(2.0)]);
    let drawn = Chart::over_seeds(seeds.iter().map(Vec::as_slice));
    assert_eq!(drawn[0].csv(), "panel,series,x,y,low,high\n,SWAN,A,2,1,4\n");
    let lines = |chart: &Chart| chart.svg().matches("<line").count();
    assert!(lines(&drawn[0]) > lines(&one[0]));
    let svg = drawn[0].svg();
    let (rim, ink) = (svg.rfind("stroke=\"white\""), svg.rfind("<line"));
    assert!(rim.is_some() && rim < ink, "whiskers can be seen on bars of any colour: {svg}");
}

#[test]
fn what_was_not_measured_is_not_drawn_and_has_an_empty_cell() {
    let chart = |second: f64| {
        let bars = vec![Bars::new("SWAN", Scheme::Swan, vec![1.0, second])];
        let panel = Panel::bars(Axis::linear("ms"), vec!["A".into(), "B".into()], bars);
        let points = vec![(0.0, 1.0), (1.0, second), (2.0, 1.0)];
        let lines = Panel::lines(Axis::linear("s"), Axis::linear("ms"), vec![Line::new("SWAN", Scheme::Swan, points)]);
        vec![Chart::grid("both", "", 2, (400.0, 200.0), vec![panel, lines])]
    };
    let seeds = [chart(2.0), chart(crate::series::NOTHING), chart(2.0)];
    let drawn = Chart::over_seeds(seeds.iter().map(Vec::as_slice));
    assert!(drawn[0].csv().contains("SWAN,B,,,\n"), "{}", drawn[0].csv());
    let first = &chart(crate::series::NOTHING)[0];
    assert_eq!(first.csv().matches(",SWAN,1,").count(), 0, "{}", first.csv());
    for svg in [first.svg(), drawn[0].svg()] {
        assert!(!svg.contains("NaN"), "{svg}");
    }
}

#[test]
fn the_legend_shows_bars_as_bars() {
    let bars = vec![Bars::new("published", Scheme::Paper, vec![1.0])];
    let chart = Chart::single("bars", "", Panel::bars(Axis::linear("ms"), vec!["A".into()], bars));
    assert!(!chart.svg().contains("stroke-dasharray"), "{}", chart.svg());
}

#[test]
fn curves_of_several_seeds_are_medians_in_a_band() {
    let chart = |height: f64| {
        let line = Line::new("SWAN", Scheme::Swan, vec![(0.0, height), (1.0, height)]);
        vec![Chart::single("curve", "", Panel::lines(Axis::linear("s"), Axis::linear("ms"), vec![line]))]
    };
    let draw = |seeds: &[Vec<Chart>]| Chart::over_seeds(seeds.iter().map(Vec::as_slice)).swap_remove(0);
    let drawn = draw(&[chart(1.0), chart(4.0), chart(2.0)]);
    assert_eq!(drawn.csv(), "panel,series,x,y,low,high\n,SWAN,0,2,1,4\n,SWAN,1,2,1,4\n");
    let svg = drawn.svg();
    let (band, curve) = (svg.find("<polygon"), svg.find("<polyline"));
    assert!(band.is_some() && band < curve, "the band is behind the curve");
    // Inside the axis: its upper end is the highest value.
    let highest = svg.split("points=\"").nth(1).expect("a band has points").split([' ', '"']);
    assert!(highest.filter_map(|point| point.split_once(',')?.1.parse::<f64>().ok()).all(|y| y > 40.0), "{svg}");
    // One seed has no interval, and seeds that agree have none either.
    for without in [draw(&[chart(1.0)]), draw(&[chart(2.0), chart(2.0)])] {
        assert!(!without.svg().contains("<polygon"), "{}", without.svg());
    }
}

#[test]
fn a_map_names_who_leads_and_draws_a_line_around_it() {
    let of = |one: f64, other: f64| {
        let value = |value: f64| Some(crate::Interval::of(&[value]));
        Cell { values: vec![vec![value(one), value(other)]] }
    };
    let map = |first: Cell| Map {
        contenders: vec![("swan".into(), Scheme::Swan), ("log-raid".into(), Scheme::LogRaid)],
        scales: vec!["1/64".into()],
        columns: vec!["25 %".into(), "50 %".into()],
        rows: vec!["60 %".into()],
        cells: vec![first, of(1.0, 2.0)],
        better: Better::Less,
        border: Scheme::Swan,
    };
    let chart = |first| {
        let panel = Panel::map(Axis::linear("load"), Axis::linear("utilisation"), map(first)).titled("steady");
        Chart::single("map", "Who leads", panel)
    };
    let table = "panel,row,column,lead,swan 1/64,low,high,log-raid 1/64,low,high\n\
                 steady,60 %,25 %,log-raid,4,4,4,2,2,2\nsteady,60 %,50 %,swan,1,1,1,2,2,2\n";
    assert_eq!(chart(of(4.0, 2.0)).csv(), table);
    // With three seeds of which one says otherwise nobody leads.
    let seeds = [of(4.0, 2.0), of(1.0, 2.0), of(4.0, 2.0)].map(|first| vec![chart(first)]);
    let over = Chart::over_seeds(seeds.iter().map(Vec::as_slice));
    assert!(over[0].csv().contains("\"even: swan, log-raid\",4,1,4,2,2,2"), "{}", over[0].csv());
    // A line between a cell that SWAN leads in and one that it does not, and none between two that it does.
    let height = format!("width=\"4.0\" height=\"{:.1}\"", 280.0);
    assert!(chart(of(4.0, 2.0)).svg().contains(&height) && !chart(of(1.0, 2.0)).svg().contains(&height));
}

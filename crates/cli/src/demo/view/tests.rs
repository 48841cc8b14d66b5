//! The view drawn into memory.

use super::*;
use crate::demo::snapshot::{ClientView, GroupView, Summary};
use cygnus_control::status::DeviceRates;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Duration;

fn snapshot() -> Snapshot {
    let group = |role, free| GroupView { role, free, segments: 100, live: 0.5 };
    let device =
        |group, written, cleaning_read| DeviceView { group, rates: DeviceRates { read: 1e6, cleaning_read, written } };
    Snapshot {
        elapsed: Duration::from_secs(12),
        phase: Phase::Overwriting,
        progress: 0.25,
        groups: vec![group(GroupRole::FrontEnd, 80), group(GroupRole::Cleaning, 10), group(GroupRole::BackEnd, 0)],
        devices: (0..9)
            .map(|index| match index / 3 {
                0 => device(0, 200e6, 0.0),
                1 => device(1, 50e6, 60e6),
                _ => device(2, 0.0, 0.0),
            })
            .collect(),
        client: ClientView {
            iops: 91_234.0,
            bytes_per_second: 373.7e6,
            latency: Latency {
                p50: Duration::from_micros(310),
                p99: Duration::from_micros(1200),
                p999: Duration::from_millis(4),
                max: Duration::from_millis(9),
            },
            moved_bytes: 5 << 30,
        },
        write_amplification: Some(1.37),
        rotations: 4,
        cleaned_bytes: 2 << 30,
    }
}

/// The screen's rows as text.
fn drawn(view: &View, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_string()).collect::<String>().trim_end().to_string();
    (0..height).map(row).collect()
}

#[test]
fn everything_that_matters_is_on_an_80_by_30_screen() {
    let mut view = View::default();
    for _ in 0..20 {
        view.push(snapshot());
    }
    let rows = drawn(&view, 80, 30);
    let screen = rows.join("\n");
    for text in [
        "cygnus demo  12 s  4 rotations  cleaning moved 2 GiB  write amplification 1.37",
        "R0  front-end ",
        "80/100",
        "R1  cleaning ",
        "R2  back-end ",
        "live",
        " R0 d0       200 ",
        " R2 d8         · ",
        "91 234 requests/s",
        "374 MB/s",
        "p50 310 us  p99 1.20 ms  p99.9 4.00 ms  max 9.00 ms",
        "overwriting at random 25%",
        "Ctrl-C",
    ] {
        assert!(screen.contains(text), "'{text}' is missing on:\n{screen}");
    }
    // Bars are to scale: R0 has eight times the free segments of R1.
    let cells = |row: &String| row.split("live").next().unwrap().matches('█').count();
    let of = |name: &str| cells(rows.iter().find(|row| row.contains(name)).unwrap());
    assert!(of("R0  front-end") > 7 * of("R1  cleaning") && of("R2  back-end") == 0, "{screen}");
}

#[test]
fn no_screen_is_too_small_or_too_large() {
    let mut view = View::default();
    assert!(drawn(&view, 80, 24).iter().all(String::is_empty), "nothing to show yet");
    view.push(snapshot());
    for (width, height) in [(1, 1), (10, 5), (39, 12), (80, 24), (300, 100)] {
        drawn(&view, width, height);
    }
}

#[test]
fn roles_have_their_colours() {
    let mut view = View::default();
    view.push(snapshot());
    let mut terminal = Terminal::new(TestBackend::new(80, 30)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    // The role's first letter, on the rows below the R-group panel's border.
    let color = |row: u16| buffer[(6, 2 + row)].fg;
    assert_eq!([color(0), color(1), color(2)], [Color::Green, Color::Yellow, Color::Blue]);
}

#[test]
fn bars_fill_in_eighths() {
    assert_eq!(bar(0.0, 4), "    ");
    assert_eq!(bar(1.0, 4), "████");
    assert_eq!(bar(7.0, 4), "████");
    assert_eq!(bar(0.5, 3), "█▌ ");
    assert_eq!(bar(0.5, 0), "");
}

#[test]
fn lines_and_summary_say_the_same_without_a_terminal() {
    let line = plain::line(&snapshot());
    for text in ["12.0s overwriting at random", "25%", "[F:80 C:10 b:0]", "91 234/s", "p99.9 4.00 ms", "WA 1.37"] {
        assert!(line.contains(text), "'{text}' is missing in: {line}");
    }
    let mut summary = Summary {
        last: snapshot(),
        capacity_bytes: 1 << 30,
        written_bytes: 3 << 30,
        write_time: Duration::from_secs(10),
        write_latency: Latency::default(),
        verified_bytes: 1 << 30,
        wrong_blocks: 0,
        cut_short: false,
    };
    let text = plain::summary(&summary);
    assert!(text.contains("3 GiB in 10.0 s (322 MB/s), 3.0 times the array's capacity of 1 GiB"), "{text}");
    assert!(text.contains("all 262 144 blocks are what was written"), "{text}");
    summary.wrong_blocks = 7;
    assert!(plain::summary(&summary).contains("7 of 262 144 blocks are WRONG"));
}

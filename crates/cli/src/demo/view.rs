//! The demo on a terminal: drawn from [`Snapshot`]s, without knowing where they come from.

use super::plain;
use super::snapshot::{DeviceView, Latency, Phase, Snapshot};
use cygnus_control::show;
use cygnus_control::status::GroupRole;
use cygnus_types::ByteSize;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Gauge, Paragraph, RenderDirection, Sparkline};
use std::collections::VecDeque;

/// Snapshots remembered for the throughput curve: more than any terminal is wide.
const HISTORY: usize = 512;

/// The live view: remembers what the curve needs.
#[derive(Debug, Default)]
pub struct View {
    /// Client MB/s, newest first.
    throughput: VecDeque<u64>,
    last: Option<Snapshot>,
}

fn role_color(role: GroupRole) -> Color {
    match role {
        GroupRole::FrontEnd => Color::Green,
        GroupRole::BackEnd => Color::Blue,
        GroupRole::Cleaning | GroupRole::Retiring => Color::Yellow,
    }
}

const FAINT: Style = Style::new().fg(Color::DarkGray);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const WRITE: Color = Color::Green;
const READ: Color = Color::Cyan;
const CLEAN_READ: Color = Color::Yellow;

fn panel(title: &str) -> Block<'_> {
    Block::new()
        .borders(Borders::ALL)
        .border_type(BorderType::Rounded)
        .border_style(FAINT)
        .title(Span::styled(title, BOLD))
}

impl View {
    /// Takes the next snapshot.
    pub fn push(&mut self, snapshot: Snapshot) {
        // The curve shows one phase: reading back at another speed would squeeze the writes.
        if self
            .last
            .as_ref()
            .is_some_and(|last| (last.phase == Phase::Verifying) != (snapshot.phase == Phase::Verifying))
        {
            self.throughput.clear();
        }
        self.throughput.push_front((snapshot.client.bytes_per_second / 1e6) as u64);
        self.throughput.truncate(HISTORY);
        self.last = Some(snapshot);
    }

    /// Draws the newest snapshot.
    pub fn draw(&self, frame: &mut Frame) {
        let Some(snapshot) = &self.last else { return };
        let groups = snapshot.groups.len() as u16;
        let devices = snapshot.devices.len() as u16;
        let [title, array, devices, client, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(groups + 2),
            Constraint::Length(devices + 3),
            Constraint::Min(8),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(headline(snapshot), title);
        draw_groups(frame, array, snapshot);
        draw_devices(frame, devices, snapshot);
        self.draw_client(frame, client, snapshot);
        frame.render_widget(Line::styled(" Ctrl-C or q ends it early and cleans up", FAINT), footer);
    }

    fn draw_client(&self, frame: &mut Frame, area: Rect, snapshot: &Snapshot) {
        let block = panel(" NBD client ");
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let [numbers, curve, gauge] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(3), Constraint::Length(1)]).areas(inner);
        frame.render_widget(Paragraph::new(client_lines(snapshot)), numbers);

        let history: Vec<u64> = self.throughput.iter().copied().collect();
        let color = if snapshot.phase == Phase::Verifying { READ } else { WRITE };
        let sparkline = Sparkline::default().data(&history).direction(RenderDirection::RightToLeft).style(color);
        frame.render_widget(sparkline, curve);

        let progress = snapshot.progress.clamp(0.0, 1.0);
        let label = format!("{} {:.0}%", snapshot.phase.title(), progress * 100.0);
        frame.render_widget(Gauge::default().gauge_style(color).use_unicode(true).ratio(progress).label(label), gauge);
    }
}

fn headline(snapshot: &Snapshot) -> Line<'static> {
    let mut spans = vec![
        Span::styled(" cygnus demo", BOLD),
        Span::styled(format!("  {:.0} s", snapshot.elapsed.as_secs_f64()), FAINT),
        Span::raw(format!("  {} rotations", snapshot.rotations)),
        Span::raw(format!("  cleaning moved {}", ByteSize(snapshot.cleaned_bytes))),
    ];
    if let Some(amplification) = snapshot.write_amplification {
        spans.push(Span::raw(format!("  write amplification {amplification:.2}")));
    }
    Line::from(spans)
}

/// A bar of `width` cells, filled to `share` in eighths of a cell.
fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.push(EIGHTHS[eighths % 8]);
    }
    let missing = width - text.chars().count();
    text + &" ".repeat(missing)
}

fn draw_groups(frame: &mut Frame, area: Rect, snapshot: &Snapshot) {
    let block = panel(" R-groups: free segments, live data ");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    // Name, role, counts and percentage take 39 cells; the two bars share the rest, free segments two thirds of it.
    let room = usize::from(inner.width).saturating_sub(39);
    let (free_width, live_width) = (room * 2 / 3, room / 3);
    let lines: Vec<Line> = snapshot
        .groups
        .iter()
        .enumerate()
        .map(|(index, group)| {
            let color = role_color(group.role);
            let free = f64::from(group.free) / f64::from(group.segments.max(1));
            Line::from(vec![
                Span::raw(format!(" R{index}  ")),
                Span::styled(format!("{:<10}", group.role.word()), Style::new().fg(color).add_modifier(Modifier::BOLD)),
                Span::styled(bar(free, free_width), Style::new().fg(color).bg(Color::Black)),
                Span::raw(format!("{:>5}/{:<5}", group.free, group.segments)),
                Span::styled("live ", FAINT),
                Span::styled(bar(group.live, live_width), Style::new().fg(Color::Magenta).bg(Color::Black)),
                Span::raw(format!("{:>4.0}%", group.live * 100.0)),
            ])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

fn draw_devices(frame: &mut Frame, area: Rect, snapshot: &Snapshot) {
    let block = panel(" Devices: MB/s ");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    // Three columns of number and bar, all on one scale, so that lengths compare.
    let width = (usize::from(inner.width).saturating_sub(10) / 3).saturating_sub(9);
    let all = snapshot
        .devices
        .iter()
        .flat_map(|device| [device.rates.written, device.rates.read, device.rates.cleaning_read]);
    let scale = all.fold(1e6, f64::max);
    let heading = |text: &str, color| Span::styled(format!("{text:<w$}", w = width + 9), Style::new().fg(color));
    let mut lines = vec![Line::from(vec![
        Span::raw(" ".repeat(10)),
        heading("write", WRITE),
        heading("read", READ),
        heading("cleaning read", CLEAN_READ),
    ])];
    lines.extend(snapshot.devices.iter().enumerate().map(|(index, device)| {
        let role = snapshot.groups.get(device.group as usize).map_or(GroupRole::BackEnd, |group| group.role);
        device_line(index, device, role, scale, width)
    }));
    frame.render_widget(Paragraph::new(lines), inner);
}

fn device_line(index: usize, device: &DeviceView, role: GroupRole, scale: f64, width: usize) -> Line<'static> {
    let mut spans = vec![Span::styled(format!(" R{} d{index:<4}", device.group), Style::new().fg(role_color(role)))];
    let rates = device.rates;
    for (rate, color) in [(rates.written, WRITE), (rates.read, READ), (rates.cleaning_read, CLEAN_READ)] {
        let number = if rate > 0.0 { format!("{:>7.0} ", rate / 1e6) } else { format!("{:>7} ", "·") };
        spans.push(Span::styled(number, if rate > 0.0 { Style::new() } else { FAINT }));
        spans.push(Span::styled(bar(rate / scale, width), Style::new().fg(color)));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

fn client_lines(snapshot: &Snapshot) -> Vec<Line<'static>> {
    let client = &snapshot.client;
    let Latency { p50, p99, p999, max } = client.latency;
    let label = |text: &'static str| Span::styled(text, FAINT);
    let value = |text: String| Span::styled(text, BOLD);
    vec![
        Line::from(vec![
            Span::raw(" "),
            value(format!("{:>9}", show::count(client.iops as u64))),
            label(" requests/s  "),
            value(format!("{:>10}", show::rate(client.bytes_per_second))),
            label("   in all "),
            value(ByteSize(client.moved_bytes).to_string()),
        ]),
        Line::from(vec![
            label(" latency  p50 "),
            value(plain::time(p50)),
            label("  p99 "),
            value(plain::time(p99)),
            label("  p99.9 "),
            value(plain::time(p999)),
            label("  max "),
            value(plain::time(max)),
        ]),
    ]
}

#[cfg(test)]
mod tests;

//! A server's log: lines on standard error, with the time unless somebody else writes that down, and of what comes for each
//! of very many blocks only as much as a person can read.

use crate::event::{ServerEvent, Weight};
use crate::options::Voice;
use crate::scribe::{Said, Scribe};
use cygnus_control::show;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Lines of one kind about one thing that are shown in a [`WINDOW`]; the others are counted.
const SHOWN: u64 = 5;
const WINDOW: Duration = Duration::from_secs(60);

/// The log of one server.
pub struct ServerLog {
    scribe: Scribe,
    times: bool,
    throttle: Mutex<Throttle>,
}

impl ServerLog {
    /// With the time before each line if `times`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn new(voice: Arc<dyn Voice>, times: bool) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { scribe: Scribe::new(voice, times)?, times, throttle: Mutex::default() }))
    }

    /// Tells what has happened.
    pub fn tell(&self, event: &ServerEvent<'_>) {
        let is_held = |(kind, subject): (&'static str, &str)| !self.admits(kind, subject);
        if event.throttled().is_some_and(is_held) {
            return;
        }
        match event.weight() {
            Weight::Detail => self.scribe.write(Said::Detail(stamped(self.times, &event.to_string()))),
            Weight::Line => self.say(&event.to_string()),
            Weight::Warning => self.say(&format!("warning: {event}")),
        }
    }

    /// Tells how many lines were held back, once their time is over. To be called now and then, and with `all` at the end.
    pub fn tell_held(&self, all: bool) {
        let told = self.throttle.lock().expect("no holder panics").over(Instant::now(), all);
        told.iter().for_each(|line| self.say(line));
    }

    fn say(&self, text: &str) {
        self.scribe.write(Said::Line(stamped(self.times, text)));
    }

    fn admits(&self, kind: &'static str, subject: &str) -> bool {
        self.throttle.lock().expect("no holder panics").admits(kind, subject, Instant::now())
    }
}

/// A line, after the time if `times`.
pub(crate) fn stamped(times: bool, text: &str) -> String {
    if !times {
        return text.into();
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{} {text}", rfc3339(since))
}

impl cygnus_engine::Log for ServerLog {
    fn line(&self, text: &str) {
        self.say(text);
    }

    fn repeated(&self, kind: &'static str, subject: &str, text: &str) {
        if self.admits(kind, subject) {
            self.say(text);
        }
    }
}

/// What was shown lately, by kind and by what it is about.
#[derive(Default)]
struct Throttle(BTreeMap<(&'static str, String), Recent>);

struct Recent {
    since: Instant,
    lines: u64,
}

impl Throttle {
    fn admits(&mut self, kind: &'static str, subject: &str, now: Instant) -> bool {
        let recent = self.0.entry((kind, subject.into())).or_insert(Recent { since: now, lines: 0 });
        recent.lines += 1;
        recent.lines <= SHOWN
    }

    /// Ends the windows that are over, or all of them: a line for each that held some back.
    fn over(&mut self, now: Instant, all: bool) -> Vec<String> {
        let is_over = |recent: &Recent| all || now.saturating_duration_since(recent.since) >= WINDOW;
        let told = self.0.iter().filter(|(_, recent)| is_over(recent) && recent.lines > SHOWN);
        let told = told.map(|((kind, subject), recent)| {
            let span = show::span(now.saturating_duration_since(recent.since).as_secs_f64());
            format!("{kind} on {subject}: and {} more in the last {span}", show::count(recent.lines - SHOWN))
        });
        let told = told.collect();
        self.0.retain(|_, recent| !is_over(recent));
        told
    }
}

/// A time since 1970 as RFC 3339 has it: `2026-11-22T17:45:03.250Z`.
fn rfc3339(since: Duration) -> String {
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second, milli) = (second / 3600, second / 60 % 60, second % 60, since.subsec_millis());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a number of days since 1970, in eras of 400 years whose years begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_798_761_600, "2027-01-01T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(Duration::from_millis(1_234)), "1970-01-01T00:00:01.234Z");
    }

    #[test]
    fn a_few_lines_are_shown_and_the_others_counted() {
        let (mut throttle, begin) = (Throttle::default(), Instant::now());
        let shown = (0..16_816).filter(|_| throttle.admits("wrong data", "d3", begin)).count() as u64;
        assert_eq!(shown, SHOWN);
        assert!(throttle.admits("read error", "d3", begin), "another kind");
        assert!(throttle.admits("wrong data", "d4", begin), "another device");
        assert!(throttle.over(begin + WINDOW / 2, false).is_empty());
        assert_eq!(
            throttle.over(begin + WINDOW, false),
            ["wrong data on d3: and 16 811 more in the last 1 min 0 s"],
            "whoever held nothing back says nothing"
        );
        assert!(throttle.admits("wrong data", "d3", begin + WINDOW), "a new window");
        assert!(throttle.over(begin + WINDOW, true).is_empty());
    }
}

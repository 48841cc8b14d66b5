//! How long something will take, by how long it has taken.

use std::time::{Duration, Instant};

/// Before this much is done nobody can tell.
const TELLING: f64 = 0.01;

/// How fast something goes on, by when it began.
#[derive(Clone, Copy, Debug)]
pub struct Pace(Instant);

impl Pace {
    /// Of something that begins now.
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    /// An estimate of the time left when this share (0 to 1) is done, in words.
    pub fn left(self, share: f64) -> String {
        estimate(self.0.elapsed(), share).map_or(String::new(), |left| format!("about {} left", words(left)))
    }
}

fn estimate(elapsed: Duration, share: f64) -> Option<Duration> {
    (share >= TELLING).then(|| elapsed.mul_f64((1.0 - share.min(1.0)) / share))
}

fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_time_taken() {
        let minute = Duration::from_secs(60);
        assert_eq!(estimate(minute, 0.0), None);
        assert_eq!(estimate(minute, 0.25), Some(3 * minute));
        assert_eq!(estimate(minute, 1.0), Some(Duration::ZERO));
        assert_eq!([5, 65, 7265].map(|seconds| words(Duration::from_secs(seconds))), ["5s", "1m05s", "2h01m"]);
    }
}

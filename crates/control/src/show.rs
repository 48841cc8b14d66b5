//! Numbers for people. Sizes are [`cygnus_types::ByteSize`]'s matter; here are rates and counts.

/// Writes a rate in bytes per second the way disks are sold: `412 MB/s`, decimal; what is little in kB, since it is not nothing.
pub fn rate(bytes_per_second: f64) -> String {
    let mega = bytes_per_second / 1e6;
    match mega {
        m if m >= 9_999.5 => format!("{:.1} GB/s", m / 1e3),
        m if m >= 9.95 => format!("{m:.0} MB/s"),
        m if m >= 0.095 => format!("{m:.1} MB/s"),
        m if m > 0.0 => format!("{:.0} kB/s", (m * 1e3).round().max(1.0)),
        _ => "0 MB/s".into(),
    }
}

/// Writes a span of time in the two largest units that it has: `4.2 s`, `3 min 5 s`, `2 h 40 min`.
pub fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Writes a count with its thousands set apart: `1 234 567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Writes a count of things with its thousands set apart: `1 block`, `1 234 blocks`.
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        for (number, text) in [(0, "0"), (12, "12"), (999, "999"), (1000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn spans_have_two_units_at_most() {
        for (seconds, text) in [(0.0, "0.0 s"), (4.25, "4.2 s"), (185.0, "3 min 5 s"), (9605.0, "2 h 40 min")] {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn rates_keep_two_or_three_digits() {
        for (number, text) in [
            (0.0, "0 MB/s"),
            (0.3, "1 kB/s"),
            (14.3e3, "14 kB/s"),
            (1.25e6, "1.2 MB/s"),
            (412.4e6, "412 MB/s"),
            (9.97e6, "10 MB/s"),
            (12.3e9, "12.3 GB/s"),
        ] {
            assert_eq!(rate(number), text);
        }
    }
}

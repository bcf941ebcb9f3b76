//! Numbers for people.

/// A value in its profile's unit, for people: `2.84 s`, `1.5 MiB`, `375`.
pub(crate) fn value(value: i64, unit: &str) -> String {
    match unit {
        "bytes" | "byte" | "b" | "B" => return bytes(value),
        "count" | "" => return value.to_string(),
        _ => {}
    }
    match seconds_in(unit) {
        Some(seconds) => duration(value as f64 * seconds),
        None => format!("{value} {unit}"),
    }
}

/// How many seconds the unit has, if it is one of time.
pub(crate) fn seconds_in(unit: &str) -> Option<f64> {
    match unit {
        "nanoseconds" | "nanosecond" | "ns" => Some(1e-9),
        "microseconds" | "microsecond" | "us" => Some(1e-6),
        "milliseconds" | "millisecond" | "ms" => Some(1e-3),
        "seconds" | "second" | "s" => Some(1.0),
        _ => None,
    }
}

/// `1 profile`, `3 profiles`.
pub(crate) fn profiles(count: usize) -> String {
    match count {
        1 => "1 profile".to_owned(),
        more => format!("{more} profiles"),
    }
}

/// Seconds, for people.
pub(crate) fn duration(seconds: f64) -> String {
    let size = seconds.abs();
    if size == 0.0 {
        return "0 s".to_owned();
    }
    let (scaled, unit) = if size >= 0.9995 {
        (seconds, "s")
    } else if size >= 0.999_5e-3 {
        (seconds * 1e3, "ms")
    } else if size >= 0.999_5e-6 {
        (seconds * 1e6, "µs")
    } else {
        (seconds * 1e9, "ns")
    };
    format!("{} {unit}", three_digits(scaled))
}

/// Bytes, for people.
pub(crate) fn bytes(count: i64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut scaled = count as f64;
    if scaled.abs() < 1024.0 {
        return format!("{count} B");
    }
    let mut unit = "B";
    for larger in UNITS {
        if scaled.abs() < 1023.5 {
            break;
        }
        scaled /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", three_digits(scaled))
}

/// A part of a whole in per cent.
pub(crate) fn percent(part: i64, whole: i64) -> String {
    if whole == 0 {
        return "0.0 %".to_owned();
    }
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_and_a_unit() {
        for (number, unit, text) in [
            (2_840_000_000, "nanoseconds", "2.84 s"),
            (740_000_000, "nanoseconds", "740 ms"),
            (9_999_999, "nanoseconds", "10.0 ms"),
            (999_999_999, "nanoseconds", "1.00 s"),
            (3_600_000_000_000, "nanoseconds", "3600 s"),
            (0, "nanoseconds", "0 s"),
            (7, "nanoseconds", "7.00 ns"),
            (-1_500, "microseconds", "-1.50 ms"),
            (1_023, "bytes", "1023 B"),
            (1_536, "bytes", "1.50 KiB"),
            (1 << 30, "bytes", "1.00 GiB"),
            (i64::MIN, "bytes", "-8.00 EiB"),
            (375, "count", "375"),
            (3, "widgets", "3 widgets"),
        ] {
            assert_eq!(value(number, unit), text);
        }
    }

    #[test]
    fn shares_have_one_digit_behind_the_point() {
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(-1, 2), "-50.0 %");
        assert_eq!(percent(1, 0), "0.0 %");
    }
}

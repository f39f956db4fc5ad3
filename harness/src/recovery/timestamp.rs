//! RFC 3339 timestamps, no more and no less: what other date formats a library would also read is not accepted.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

/// The year after which an offset could lead out of what a timestamp holds.
const YEAR_MAX: i16 = 9998;

/// The longest fraction of a second, in digits.
const FRACTION_DIGITS_MAX: usize = 9;

/// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`. As RFC 3339 allows, `t`, `z` and a space for `T` will do.
///
/// Years 0001 to 9998, fractions of 1 to 9 digits, offsets up to 23:59, no leap second.
pub(super) fn read(text: &str) -> Option<Timestamp> {
    let mut rest = Rest(text.as_bytes());
    let (year, _, month, _, day) = (
        rest.digits(4)?,
        rest.one_of(b"-")?,
        rest.digits(2)?,
        rest.one_of(b"-")?,
        rest.digits(2)?,
    );
    rest.one_of(b"Tt ")?;
    let (hour, _, minute, _, second) = (
        rest.digits(2)?,
        rest.one_of(b":")?,
        rest.digits(2)?,
        rest.one_of(b":")?,
        rest.digits(2)?,
    );
    let nanosecond = if rest.one_of(b".").is_some() {
        rest.fraction()?
    } else {
        0
    };
    let offset = rest.offset()?;
    let year = i16::try_from(year).ok().filter(|year| (1..=YEAR_MAX).contains(year))?;
    let date = Date::new(year, small(month)?, small(day)?).ok()?;
    let time = Time::new(small(hour)?, small(minute)?, small(second)?, nanosecond).ok()?;
    offset.to_timestamp(DateTime::from_parts(date, time)).ok()
}

fn small(number: i32) -> Option<i8> {
    i8::try_from(number).ok()
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn one_of(&mut self, allowed: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !allowed.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    fn digits(&mut self, count: usize) -> Option<i32> {
        let mut number = 0;
        for _ in 0..count {
            number = number * 10 + i32::from(self.one_of(b"0123456789")? - b'0');
        }
        Some(number)
    }

    /// The digits after the point, as nanoseconds.
    fn fraction(&mut self) -> Option<i32> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=FRACTION_DIGITS_MAX).contains(&count) {
            return None;
        }
        let missing = u32::try_from(FRACTION_DIGITS_MAX - count).ok()?;
        Some(self.digits(count)? * 10_i32.pow(missing))
    }

    /// The zone, which must be the end.
    fn offset(&mut self) -> Option<Offset> {
        let seconds = match self.one_of(b"Zz+-")? {
            b'Z' | b'z' => 0,
            sign => {
                let (hours, _, minutes) = (self.digits(2)?, self.one_of(b":")?, self.digits(2)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                let seconds = (hours * 60 + minutes) * 60;
                if sign == b'-' { -seconds } else { seconds }
            }
        };
        self.0.is_empty().then(|| Offset::from_seconds(seconds).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_needed_and_nothing_else_is_read() {
        let at = |text: &str| read(text).map(|timestamp| timestamp.to_string());
        for (text, expected) in [
            ("2026-09-22T00:00:00Z", "2026-09-22T00:00:00Z"),
            ("2026-09-22 02:00:00+02:00", "2026-09-22T00:00:00Z"),
            ("2026-09-21t19:30:00.25-04:30", "2026-09-22T00:00:00.25Z"),
            ("2026-09-22T00:00:00.123456789z", "2026-09-22T00:00:00.123456789Z"),
            ("2026-09-22T00:00:00-00:00", "2026-09-22T00:00:00Z"),
            ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
            ("0001-01-01T00:00:00+23:59", "0000-12-31T00:01:00Z"),
            ("9998-12-31T23:59:59-23:59", "9999-01-01T23:58:59Z"),
        ] {
            assert_eq!(at(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "2026-09-22T00:00:00",
            "2026-09-22",
            "2026-09-22T00:00Z",
            "2026-09-22T00:00:00.Z",
            "2026-09-22T00:00:00.1234567890Z",
            "2026-09-22T00:00:00+02",
            "2026-09-22T00:00:00+0200",
            "2026-09-22T00:00:00+24:00",
            "2026-09-22T00:00:00+02:60",
            "2026-09-22T00:00:00Z[UTC]",
            "2026-09-22T00:00:00 Z",
            " 2026-09-22T00:00:00Z",
            "2026-09-22T00:00:00Z ",
            "2026-09-22T00:00:00Z\n",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-09-22T24:00:00Z",
            "2026-06-30T23:59:60Z",
            "0000-01-01T00:00:00Z",
            "9999-01-01T00:00:00Z",
            "+2026-09-22T00:00:00Z",
            "２０２６-09-22T00:00:00Z",
            "1790035200",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
    }
}

//! `xs:duration`.

use std::time::Duration;

/// Units of an `xs:duration` before its `T`, seconds. How long a month or a year is depends on the
/// date; players take 30 and 365 days. Packagers write them as 0.
const DATE: &[(char, u64)] = &[('Y', 365 * 86_400), ('M', 30 * 86_400), ('D', 86_400)];
/// Units after the `T` but for seconds, which may have a fraction.
const TIME: &[(char, u64)] = &[('H', 3600), ('M', 60)];

/// Reads an `xs:duration` such as `PT1H2M3.5S` or `P0Y0M0DT4S`. `None` for anything else, for what
/// is negative and for more than 100 years.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim().strip_prefix('P')?;
    let (date, time) = match text.split_once('T') {
        Some((date, time)) if !time.is_empty() => (date, time),
        Some(_) => return None,
        None => (text, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    for (mut rest, units) in [(date, DATE), (time, TIME)] {
        for (unit, seconds) in units {
            if let Some((number, after)) = rest.split_once(*unit) {
                let count: u32 = digits(number)?.parse().ok()?;
                total = total.checked_add(Duration::from_secs(*seconds).checked_mul(count)?)?;
                rest = after;
            }
        }
        if let Some(number) = rest.strip_suffix('S').filter(|_| units == TIME) {
            total = total.checked_add(seconds(number)?)?;
            rest = "";
        }
        if !rest.is_empty() {
            return None;
        }
    }
    (total <= Duration::from_secs(100 * 366 * 86_400)).then_some(total)
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

/// Seconds to the nanosecond; further digits are dropped.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = digits(whole)?.parse().ok()?;
    let fraction = digits(fraction)?;
    let nanos: u32 = format!("{:0<9}", &fraction[..fraction.len().min(9)]).parse().ok()?;
    Some(Duration::new(whole, nanos))
}

/// A time as `xs:duration`, exact to the nanosecond.
pub(super) fn text(time: Duration) -> String {
    let nanos = format!("{:09}", time.subsec_nanos());
    match nanos.trim_end_matches('0') {
        "" => format!("PT{}S", time.as_secs()),
        fraction => format!("PT{}.{fraction}S", time.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_packagers_write() {
        for (given, millis) in [
            ("PT9M56.46S", 596_460),
            ("PT0H10M34.566S", 634_566),
            ("P0DT0H0M7.007S", 7_007),
            ("P1D", 86_400_000),
            ("PT2S", 2_000),
            ("PT1H", 3_600_000),
            ("PT4.0S", 4_000),
            ("P0Y0M0DT0H0M4.000S", 4_000),
            ("P0Y0MT4S", 4_000),
            ("P0M0DT1M", 60_000),
            ("P1Y", 365 * 86_400_000),
            ("P1M", 30 * 86_400_000),
            ("P1M1DT1M", 31 * 86_400_000 + 60_000),
        ] {
            assert_eq!(parse(given), Some(Duration::from_millis(millis)), "{given}");
        }
        for wrong in [
            "",
            "P",
            "PT",
            "PT-1S",
            "-PT1S",
            "P101Y",
            "P1M1Y",
            "P1D1M",
            "P1YT",
            "P1S",
            "P0Y0M0D T4S",
            "PT1",
            "PT1.S",
            "PT1S2M",
            "7.0",
            "PT1e3S",
            "PT99999999999S",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(nanos in 0..4_000_000_000_000_000_u64) {
            let time = Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&text(time)), Some(time));
        }

        #[test]
        fn any_text_is_survived(given in ".*|P[0-9YDTHMS.]*") {
            parse(&given);
        }
    }
}

//! Text and numbers as HTML.

use std::fmt::Write as _;

/// Appends `text` with everything escaped that HTML gives a meaning, in elements and in quoted
/// attributes alike.
pub fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A zero byte is not allowed in HTML at all.
            '\0' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// `text`, escaped as [`escape_into`] does.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(&mut out, text);
    out
}

/// JSON that may stand in a script element: `<` never appears, so neither an end tag nor a
/// comment can.
pub fn json_for_script(json: &str) -> String {
    // In JSON a `<` can only stand in a string, where its escape means the same.
    json.replace('<', "\\u003c")
}

/// A number with `digits` after the point, a true minus sign, and a narrow space between
/// thousands from 10 000 on.
pub fn number(value: f64, digits: u8) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{:.*}", usize::from(digits.min(9)), value.abs());
    let zero = text.bytes().all(|b| b == b'0' || b == b'.');
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    if value < 0.0 && !zero {
        out.push('\u{2212}');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len() > 4 && (whole.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out + fraction
}

/// An interval: `69.8 to 72.9`.
pub fn interval(ci95: [f64; 2], digits: u8) -> String {
    format!("{} to {}", number(ci95[0], digits), number(ci95[1], digits))
}

/// A number with its unit; the unit may be empty.
pub fn with_unit(value: f64, digits: u8, unit: &str) -> String {
    match unit {
        "" => number(value, digits),
        "%" => format!("{}\u{202f}%", number(value, digits)),
        unit => format!("{}\u{a0}{unit}", number(value, digits)),
    }
}

/// Appends `<tag class>text</tag>`; nothing if the text is empty.
pub fn element(out: &mut String, tag: &str, class: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    open(out, tag, class);
    escape_into(out, text);
    let _ = writeln!(out, "</{tag}>");
}

/// Appends `<tag class>`.
pub fn open(out: &mut String, tag: &str, class: &str) {
    let _ = match class {
        "" => write!(out, "<{tag}>"),
        class => write!(out, "<{tag} class=\"{class}\">"),
    };
}

/// A linear scale from values to percent of a width.
pub struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// The scale that holds all finite ones of `values`, with `pad` of their span on either side.
    /// `None` if there are none.
    pub fn around(values: impl IntoIterator<Item = f64>, pad: f64) -> Option<Self> {
        let (low, high) = values
            .into_iter()
            .filter(|v| v.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return None;
        }
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        Some(Self { low: low - pad * span, high: high + pad * span })
    }

    /// Position of `value` on the scale, in percent, kept within 0 to 100.
    pub fn percent(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low) * 100.0).clamp(0.0, 100.0)
    }

    /// About `count` round values within the scale.
    pub fn ticks(&self, count: f64) -> Vec<f64> {
        let raw = (self.high - self.low) / count;
        let base = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|m| m * base)
            .find(|s| *s >= raw)
            .unwrap_or(10.0 * base);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// Digits after the point that tell the ticks of a scale apart.
pub fn tick_digits(ticks: &[f64]) -> u8 {
    let step = ticks.windows(2).map(|w| w[1] - w[0]).next().unwrap_or(1.0);
    (-step.log10().floor()).clamp(0.0, 6.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_digits_a_true_minus_and_grouped_thousands() {
        assert_eq!(number(71.25, 1), "71.2");
        assert_eq!(number(-3.0, 2), "\u{2212}3.00");
        assert_eq!(number(-0.001, 1), "0.0");
        assert_eq!(number(1234.5, 0), "1234");
        assert_eq!(number(1_234_567.0, 0), "1\u{202f}234\u{202f}567");
        assert_eq!(number(f64::NAN, 1), "–");
        assert_eq!(with_unit(12.0, 0, "Mbit/s"), "12\u{a0}Mbit/s");
    }

    #[test]
    fn scales_hold_their_values_and_tick_at_round_ones() {
        let scale = Scale::around([10.0, 30.0, f64::NAN], 0.0).expect("finite values");
        assert_eq!(scale.percent(15.0), 25.0);
        assert_eq!(scale.percent(99.0), 100.0);
        assert_eq!(scale.ticks(4.0), [10.0, 15.0, 20.0, 25.0, 30.0]);
        assert_eq!(tick_digits(&scale.ticks(4.0)), 0);
        assert_eq!(tick_digits(&[0.0, 0.5]), 1);
        assert!(Scale::around([f64::NAN], 0.1).is_none());
    }

    #[test]
    fn json_in_a_script_cannot_end_it() {
        let hostile = serde_json::to_string("</script><!-- <b>").expect("text");
        let safe = json_for_script(&hostile);
        assert!(!safe.contains('<'));
        let back: String = serde_json::from_str(&safe).expect("still JSON");
        assert_eq!(back, "</script><!-- <b>");
    }
}

//! Common Media Client Data (CTA-5004), as players send it with each request.
//!
//! The player says how it fares: buffer, bitrate, measured throughput. What the standard lacks
//! travels in keys of our own, which carry the prefix `com.airlane-` as section 3 of CTA-5004 asks
//! for. A server must work when any of it is missing or wrong: the parser takes what it can read
//! and passes over the rest.

use std::fmt::Write;
use std::time::Duration;

use airlane_base::Rate;

/// Longest CMCD text that is looked at: a request line has its limits, and so has patience.
const MAX_TEXT_BYTES: usize = 8_192;

/// What a player reports with a request. `None` means that it did not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cmcd {
    /// `bl`: length of the playback buffer, to the 100 ms on the wire.
    pub buffer: Option<Duration>,
    /// `br`: encoded bitrate of the object asked for.
    pub bitrate: Option<Rate>,
    /// `tb`: the highest bitrate of the ladder.
    pub top_bitrate: Option<Rate>,
    /// `d`: playing time of the object.
    pub duration: Option<Duration>,
    /// `mtp`: throughput between client and server as the client measured it.
    pub throughput: Option<Rate>,
    /// `sid`: the playback session, a GUID.
    pub session: Option<String>,
    /// `cid`: the content.
    pub content: Option<String>,
    /// `su`: the object is needed urgently, for start-up, seeking or after a stall.
    pub startup: bool,
    /// `bs`: the buffer ran empty since the request before.
    pub starved: bool,
    /// `com.airlane-qoe`: mean of equation 1 over the chunks played so far.
    pub past_qoe: Option<f64>,
    /// `com.airlane-n`: chunks played so far.
    pub chunks_played: Option<u64>,
    /// `com.airlane-rb`: seconds stalled so far, start-up left out.
    pub stalled: Option<Duration>,
    /// `com.airlane-abr`: name of the player's bitrate algorithm.
    pub abr: Option<String>,
    /// `com.airlane-metric`: the measure of quality that the player's device asks for, such as
    /// `vmaf_phone`.
    pub metric: Option<String>,
    /// `com.airlane-v`: the value function of what follows this request, as
    /// `airlane_minerva::SentCurve` writes it; about 2 kB.
    pub value: Option<String>,
}

impl Cmcd {
    /// Reads the comma-separated list of keys that stands in a header field or, percent-decoded,
    /// in the query argument `CMCD`. Later keys win. Unknown keys and unreadable values count as
    /// not sent.
    pub fn parse(text: &str) -> Self {
        let mut cmcd = Self::default();
        cmcd.read(text);
        cmcd
    }

    /// Reads further keys, from another header field of the same request.
    pub fn read(&mut self, text: &str) {
        let text = clip(text, MAX_TEXT_BYTES);
        for item in split_outside_quotes(text) {
            let (key, value) = match item.split_once('=') {
                Some((k, v)) => (k.trim(), Some(v.trim())),
                None => (item.trim(), None),
            };
            self.set(key, value);
        }
    }

    /// Reads the argument `CMCD` of a query string, if it is there.
    pub fn from_query(query: &str) -> Option<Self> {
        let value = query.split('&').find_map(|pair| pair.strip_prefix("CMCD="))?;
        Some(Self::parse(&percent_decode(clip(value, 3 * MAX_TEXT_BYTES))))
    }

    fn set(&mut self, key: &str, value: Option<&str>) {
        let number = |v: Option<&str>| v?.parse::<f64>().ok().filter(|n| n.is_finite());
        let positive = |v| number(v).filter(|n| *n >= 0.0);
        let millis = |v| positive(v).map(|ms| Duration::from_secs_f64((ms / 1e3).min(1e9)));
        let seconds = |v| positive(v).map(|s| Duration::from_secs_f64(s.min(1e9)));
        let kbps = |v| positive(v).map(|k| Rate::from_bps_f64(k * 1e3));
        let truth = |v: Option<&str>| v.is_none_or(|v| v == "true" || v == "?1");
        match key {
            "bl" => self.buffer = millis(value),
            "br" => self.bitrate = kbps(value),
            "tb" => self.top_bitrate = kbps(value),
            "d" => self.duration = millis(value),
            "mtp" => self.throughput = kbps(value),
            "sid" => self.session = value.and_then(unquote),
            "cid" => self.content = value.and_then(unquote),
            "su" => self.startup = truth(value),
            "bs" => self.starved = truth(value),
            "com.airlane-qoe" => self.past_qoe = number(value),
            "com.airlane-n" => self.chunks_played = positive(value).map(|n| n as u64),
            "com.airlane-rb" => self.stalled = seconds(value),
            "com.airlane-abr" => self.abr = value.and_then(unquote),
            "com.airlane-v" => self.value = value.and_then(unquote),
            "com.airlane-metric" => self.metric = value.and_then(unquote),
            _ => {}
        }
    }

    /// The list of keys, in alphabetical order as the standard recommends.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let mut put = |key: &str, value: &str| {
            let comma = if out.is_empty() { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = if value.is_empty() {
                write!(out, "{comma}{key}")
            } else {
                write!(out, "{comma}{key}={value}")
            };
        };
        let hundreds = |x: f64| ((x / 100.0).round() * 100.0).to_string();
        if let Some(b) = self.buffer {
            put("bl", &hundreds(b.as_secs_f64() * 1e3));
        }
        if let Some(r) = self.bitrate {
            put("br", &(r.as_f64() / 1e3).round().to_string());
        }
        if self.starved {
            put("bs", "");
        }
        if let Some(c) = &self.content {
            put("cid", &quote(c));
        }
        if let Some(a) = &self.abr {
            put("com.airlane-abr", &quote(a));
        }
        if let Some(m) = &self.metric {
            put("com.airlane-metric", &quote(m));
        }
        if let Some(n) = self.chunks_played {
            put("com.airlane-n", &n.to_string());
        }
        if let Some(q) = self.past_qoe {
            put("com.airlane-qoe", &format!("{q:.3}"));
        }
        if let Some(s) = self.stalled {
            put("com.airlane-rb", &format!("{:.3}", s.as_secs_f64()));
        }
        if let Some(v) = &self.value {
            put("com.airlane-v", &quote(v));
        }
        if let Some(d) = self.duration {
            put("d", &(d.as_secs_f64() * 1e3).round().to_string());
        }
        if let Some(t) = self.throughput {
            put("mtp", &hundreds(t.as_f64() / 1e3));
        }
        if let Some(s) = &self.session {
            put("sid", &quote(s));
        }
        if self.startup {
            put("su", "");
        }
        if let Some(t) = self.top_bitrate {
            put("tb", &(t.as_f64() / 1e3).round().to_string());
        }
        out
    }

    /// The query argument `CMCD=...`, percent-encoded.
    pub fn to_query(&self) -> String {
        let mut out = String::from("CMCD=");
        for b in self.to_text().bytes() {
            if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~') {
                out.push(char::from(b));
            } else {
                let _ = write!(out, "%{b:02X}");
            }
        }
        out
    }
}

/// At most `max` bytes of `text`, cut at a character.
fn clip(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn split_outside_quotes(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c| {
        if escaped {
            escaped = false;
            return false;
        }
        match c {
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        c == ',' && !quoted
    })
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

fn unquote(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next()? } else { c });
    }
    Some(out)
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes
            .get(i + 1..i + 3)
            .and_then(|h| std::str::from_utf8(h).ok())
            .filter(|_| bytes[i] == b'%')
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        match hex {
            Some(b) => {
                out.push(b);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_players_send() {
        let c = Cmcd::parse(
            r#"bl=21300,br=3200,bs,d=4004,mtp=25400,sid="6e2fb550-c457-11e9",su,tb=6000,x=1"#,
        );
        assert_eq!(c.buffer, Some(Duration::from_millis(21_300)));
        assert_eq!(c.bitrate, Some(Rate::from_bps(3_200_000)));
        assert_eq!(c.top_bitrate, Some(Rate::from_bps(6_000_000)));
        assert_eq!(c.throughput, Some(Rate::from_bps(25_400_000)));
        assert_eq!(c.session.as_deref(), Some("6e2fb550-c457-11e9"));
        assert!(c.startup && c.starved);
        assert_eq!(c.past_qoe, None);
    }

    #[test]
    fn reads_a_query_argument() {
        let c = Cmcd::from_query("a=1&CMCD=bl%3D1000%2Ccid%3D%22a%2Cb%22&z=2").unwrap();
        assert_eq!(c.buffer, Some(Duration::from_secs(1)));
        assert_eq!(c.content.as_deref(), Some("a,b"));
        assert_eq!(Cmcd::from_query("a=1"), None);
    }

    #[test]
    fn passes_over_what_it_cannot_read() {
        let c = Cmcd::parse("bl=-5,br=x,d=NaN,mtp=inf,sid=bare,cid=\"open,su=false,=,,");
        assert_eq!(c, Cmcd::default());
    }

    fn cmcd() -> impl Strategy<Value = Cmcd> {
        let ms = proptest::option::of((0u64..100_000).prop_map(|n| Duration::from_millis(n * 100)));
        let rate =
            || proptest::option::of((0u64..1_000_000).prop_map(|k| Rate::from_bps(k * 100_000)));
        let text = || proptest::option::of(any::<String>());
        (ms, rate(), rate(), rate(), text(), text(), any::<(bool, bool)>()).prop_map(
            |(buffer, bitrate, top_bitrate, throughput, session, content, (startup, starved))| {
                Cmcd {
                    buffer,
                    bitrate,
                    top_bitrate,
                    throughput,
                    session,
                    content,
                    startup,
                    starved,
                    past_qoe: Some(-1.5),
                    chunks_played: Some(7),
                    ..Cmcd::default()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(c in cmcd()) {
            prop_assert_eq!(&Cmcd::parse(&c.to_text()), &c);
            prop_assert_eq!(Cmcd::from_query(&c.to_query()), Some(c));
        }

        #[test]
        fn any_text_is_survived(text in ".*") {
            Cmcd::parse(&text);
            Cmcd::from_query(&format!("CMCD={text}"));
        }
    }
}

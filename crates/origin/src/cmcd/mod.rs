//! Common Media Client Data (CTA-5004, and CTA-5004-A for version 2), as players send it with each
//! request or post it when something happens.
//!
//! The player says how it fares: buffer, bitrate, measured throughput. What the standard lacks
//! travels in keys of our own, which carry the prefix `com.airlane-` as section 3 of CTA-5004 asks
//! for. A server must work when any of it is missing or wrong: the parser takes what it can read
//! and passes over the rest.

mod wire;

use std::fmt::Write;
use std::time::Duration;

use airlane_base::Rate;

use self::wire::{clip, number, percent_decode, quote, split_outside_quotes, unquote};

/// Longest CMCD text that is looked at: a request line has its limits, and so has patience.
const MAX_TEXT_BYTES: usize = 8_192;

/// Bytes of an identifier that are kept: the standard allows 64 characters, of ASCII.
const MAX_ID_BYTES: usize = 64;

/// The same of names of algorithms and metrics: ours have 20 characters at most.
const MAX_NAME_BYTES: usize = 32;

/// A value function of more than this is not kept, since a part of one is none. Ours have up to about
/// 2 kB.
const MAX_VALUE_BYTES: usize = 4_096;

/// Header fields that carry CMCD (CTA-5004, section 2.1).
const FIELDS: [&str; 4] = ["cmcd-object", "cmcd-request", "cmcd-session", "cmcd-status"];

/// Reports that one post may hold; what follows is passed over.
const MAX_REPORTS: usize = 64;

/// Kind of object that a request is for (`ot`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectType {
    /// Pictures, with or without sound: `v`, `av`.
    Picture,
    /// Sound: `a`.
    Sound,
    /// Any other: manifests, headers, subtitles, keys.
    Other,
}

/// State of the player (`sta`, version 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerState {
    /// It starts, or loads ahead of a start: `s`, `d`.
    Starting,
    /// It plays: `p`.
    Playing,
    /// It moves to another place of the video: `k`.
    Seeking,
    /// It has run out of video: `r`.
    Rebuffering,
    /// It waits for its viewer: `a`, `w`.
    Paused,
    /// It has come to the end, failed, or was left: `e`, `f`, `q`.
    Ended,
}

impl ObjectType {
    fn token(self) -> &'static str {
        match self {
            Self::Picture => "v",
            Self::Sound => "a",
            Self::Other => "o",
        }
    }
}

impl PlayerState {
    fn token(self) -> &'static str {
        match self {
            Self::Starting => "s",
            Self::Playing => "p",
            Self::Seeking => "k",
            Self::Rebuffering => "r",
            Self::Paused => "a",
            Self::Ended => "e",
        }
    }

    fn from_token(token: &str) -> Option<Self> {
        Some(match token {
            "s" | "d" => Self::Starting,
            "p" => Self::Playing,
            "k" => Self::Seeking,
            "r" => Self::Rebuffering,
            "a" | "w" => Self::Paused,
            "e" | "f" | "q" => Self::Ended,
            _ => return None,
        })
    }
}

/// Report of a player with a request. `None` means that it did not say.
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
    /// `pr`: seconds of video played per second; 0 while it does not play.
    pub pace: Option<f64>,
    /// `ot`: what is asked for.
    pub object: Option<ObjectType>,
    /// `sta`: what the player does.
    pub state: Option<PlayerState>,
    /// `bg`: nobody can see the picture.
    pub hidden: bool,
    /// `bsd`: how long the last rebuffering lasted, reported once.
    pub last_stall: Option<Duration>,
    /// `bsda`: all rebuffering of the session.
    pub total_stall: Option<Duration>,
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

    /// CMCD of a request, from its query and its header fields.
    pub fn of_request<T>(request: &http::Request<T>) -> Self {
        let query = request.uri().query().and_then(Self::from_query);
        let mut cmcd = query.unwrap_or_default();
        for field in FIELDS {
            if let Some(text) = request.headers().get(field).and_then(|v| v.to_str().ok()) {
                cmcd.read(text);
            }
        }
        cmcd
    }

    /// The reports of a post, one per line (version 2's event mode).
    pub fn of_post(body: &str) -> Vec<Self> {
        let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.take(MAX_REPORTS).map(Self::parse).collect()
    }

    /// True if the player said nothing that is understood.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the argument `CMCD` of a query string, if it is there.
    pub fn from_query(query: &str) -> Option<Self> {
        let value = query.split('&').find_map(|pair| pair.strip_prefix("CMCD="))?;
        Some(Self::parse(&percent_decode(clip(value, 3 * MAX_TEXT_BYTES))))
    }

    fn set(&mut self, key: &str, value: Option<&str>) {
        let number = |v: Option<&str>| number(v?);
        let positive = |v| number(v).filter(|n| *n >= 0.0);
        let millis = |v| positive(v).map(|ms| Duration::from_secs_f64((ms / 1e3).min(1e9)));
        let seconds = |v| positive(v).map(|s| Duration::from_secs_f64(s.min(1e9)));
        let kbps = |v| positive(v).map(|k| Rate::from_bps_f64(k * 1e3));
        let text = |v: Option<&str>, most| unquote(v?).map(|s| clip(&s, most).to_owned());
        let truth = |v: Option<&str>| v.is_none_or(|v| v == "true" || v == "?1");
        match key {
            "bl" => self.buffer = millis(value),
            "br" => self.bitrate = kbps(value),
            "tb" => self.top_bitrate = kbps(value),
            "d" => self.duration = millis(value),
            "mtp" => self.throughput = kbps(value),
            "sid" => self.session = text(value, MAX_ID_BYTES),
            "cid" => self.content = text(value, MAX_ID_BYTES),
            "su" => self.startup = truth(value),
            "bs" => self.starved = truth(value),
            "pr" => self.pace = positive(value),
            "ot" => {
                self.object = value.map(|v| match v {
                    "v" | "av" => ObjectType::Picture,
                    "a" => ObjectType::Sound,
                    _ => ObjectType::Other,
                });
            }
            "sta" => self.state = value.and_then(PlayerState::from_token),
            "bg" => self.hidden = truth(value),
            "bsd" => self.last_stall = millis(value),
            "bsda" => self.total_stall = millis(value),
            "com.airlane-qoe" => self.past_qoe = number(value),
            "com.airlane-n" => self.chunks_played = positive(value).map(|n| n as u64),
            "com.airlane-rb" => self.stalled = seconds(value),
            "com.airlane-abr" => self.abr = text(value, MAX_NAME_BYTES),
            "com.airlane-v" => {
                self.value = value.and_then(unquote).filter(|v| v.len() <= MAX_VALUE_BYTES);
            }
            "com.airlane-metric" => self.metric = text(value, MAX_NAME_BYTES),
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
        let millis = |d: Duration| (d.as_secs_f64() * 1e3).round().to_string();
        if self.hidden {
            put("bg", "");
        }
        if let Some(b) = self.buffer {
            put("bl", &hundreds(b.as_secs_f64() * 1e3));
        }
        if let Some(r) = self.bitrate {
            put("br", &(r.as_f64() / 1e3).round().to_string());
        }
        if self.starved {
            put("bs", "");
        }
        if let Some(d) = self.last_stall {
            put("bsd", &millis(d));
        }
        if let Some(d) = self.total_stall {
            put("bsda", &millis(d));
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
            put("d", &millis(d));
        }
        if let Some(t) = self.throughput {
            put("mtp", &hundreds(t.as_f64() / 1e3));
        }
        if let Some(object) = self.object {
            put("ot", object.token());
        }
        if let Some(pace) = self.pace {
            put("pr", &pace.to_string());
        }
        if let Some(s) = &self.session {
            put("sid", &quote(s));
        }
        if let Some(state) = self.state {
            put("sta", state.token());
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A session keeps what a player says of itself: it is bounded, whoever says it.
    #[test]
    fn every_text_is_clipped() {
        let long = "\u{e4}".repeat(2_000);
        for key in ["sid", "cid", "com.airlane-abr", "com.airlane-metric", "com.airlane-v"] {
            let cmcd = Cmcd::parse(&format!("{key}=\"{long}\",bl=100"));
            let Cmcd { session, content, abr, metric, value, .. } = &cmcd;
            let kept = [session, content, abr, metric, value].into_iter().flatten();
            assert!(kept.map(String::len).sum::<usize>() <= MAX_VALUE_BYTES, "{key}");
            assert!(cmcd.buffer.is_some());
        }
        let named = Cmcd::parse("com.airlane-abr=\"bola\",com.airlane-metric=\"vmaf_phone\"");
        assert_eq!(
            (named.abr.as_deref(), named.metric.as_deref()),
            (Some("bola"), Some("vmaf_phone"))
        );
        let long_name = Cmcd::parse(&format!("com.airlane-abr=\"{long}\"")).abr.unwrap();
        assert_eq!(long_name.len(), MAX_NAME_BYTES);
    }

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
        let spaced = Cmcd::from_query("CMCD=cid%3D%22a+b%22%2Cbl%3D(100%3Bv+50%3Ba)").unwrap();
        assert_eq!(spaced.content.as_deref(), Some("a b"));
        assert_eq!(spaced.buffer, Some(Duration::from_millis(100)));
        assert_eq!(Cmcd::from_query("a=1"), None);
    }

    #[test]
    fn reads_version_2() {
        let c = Cmcd::parse(
            r#"v=2,sta=r,bg,pr=1.5,ot=av,bl=(900;a 4000;v),br=(3000),bsd=1200,bsda=(3400;v)"#,
        );
        assert_eq!(c.state, Some(PlayerState::Rebuffering));
        assert_eq!((c.hidden, c.pace, c.object), (true, Some(1.5), Some(ObjectType::Picture)));
        assert_eq!(c.buffer, Some(Duration::from_secs(4)));
        assert_eq!(c.bitrate, Some(Rate::from_bps(3_000_000)));
        assert_eq!(c.last_stall, Some(Duration::from_millis(1200)));
        assert_eq!(c.total_stall, Some(Duration::from_millis(3400)));
        let posted = Cmcd::of_post("e=ps,sta=a,sid=\"x\"\n\n e=t,bl=100\r\n");
        assert_eq!(posted.len(), 2);
        assert_eq!(
            (posted[0].state, posted[0].session.as_deref()),
            (Some(PlayerState::Paused), Some("x"))
        );
        assert_eq!(posted[1].buffer, Some(Duration::from_millis(100)));
    }

    #[test]
    fn passes_over_what_it_cannot_read() {
        let c = Cmcd::parse(
            "bl=-5,br=x,d=NaN,mtp=inf,sid=bare,su=false,=,,bsd=(;v),bsda=(1,sta=z,cid=\"open",
        );
        assert_eq!(c, Cmcd::default());
    }

    fn cmcd() -> impl Strategy<Value = Cmcd> {
        let ms = proptest::option::of((0u64..100_000).prop_map(|n| Duration::from_millis(n * 100)));
        let rate =
            || proptest::option::of((0u64..1_000_000).prop_map(|k| Rate::from_bps(k * 100_000)));
        let text = || proptest::option::of(any::<String>());
        let text = || text().prop_map(|t| t.map(|t: String| clip(&t, MAX_ID_BYTES).to_owned()));
        let of_v2 = (
            proptest::option::of(0.0..4.0f64),
            proptest::sample::select(vec![
                None,
                Some(ObjectType::Picture),
                Some(ObjectType::Other),
            ]),
            proptest::sample::select(vec![
                None,
                Some(PlayerState::Paused),
                Some(PlayerState::Ended),
            ]),
            any::<bool>(),
            ms.clone(),
        );
        (ms, rate(), rate(), rate(), text(), text(), any::<(bool, bool)>(), of_v2).prop_map(
            |(
                buffer,
                bitrate,
                top_bitrate,
                throughput,
                session,
                content,
                (startup, starved),
                v2,
            )| {
                let (pace, object, state, hidden, total_stall) = v2;
                Cmcd {
                    buffer,
                    bitrate,
                    top_bitrate,
                    throughput,
                    session,
                    content,
                    startup,
                    starved,
                    pace,
                    object,
                    state,
                    hidden,
                    last_stall: total_stall,
                    total_stall,
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
            Cmcd::of_post(&text);
            wire::number(&format!("({text})"));
        }
    }
}

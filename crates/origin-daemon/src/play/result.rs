//! How sessions went.

use airlane_abr::PlayedChunk;
use airlane_base::Time;
use airlane_origin::Session;
use serde::Serialize;

use super::fetch::Counts;
use super::title::Title;

/// Result of a session, as its result line says it.
#[derive(Clone, Debug, Serialize)]
pub struct PlayResult {
    /// Its number, from 0.
    pub number: usize,
    /// CMCD's session id.
    pub session: String,
    /// The manifest.
    pub url: String,
    /// Protocol that carried the session: `h3`, `h2`, `http/1.1`.
    pub carrier: Option<&'static str>,
    /// Chunks that came, and how many the title has.
    pub chunks: usize,
    /// See [`chunks`](Self::chunks).
    pub of: usize,
    /// Bytes of pictures, and of everything else.
    pub bytes: u64,
    /// See [`bytes`](Self::bytes).
    pub other_bytes: u64,
    /// Mean rate of the pictures that came, bits per second of video.
    pub mean_bps: f64,
    /// The measure of quality, if the title has a table.
    pub metric: Option<&'static str>,
    /// Mean quality.
    pub quality: Option<f64>,
    /// Mean of equation 1.
    pub qoe: Option<f64>,
    /// Wait for the first picture, seconds.
    pub startup_s: Option<f64>,
    /// Time stalled, seconds.
    pub stalled_s: f64,
    /// Number of stalls.
    pub stalls: usize,
    /// Changes of rung.
    pub switches: usize,
    /// Requests that were made again.
    pub retries: u32,
    /// Error that ended the session early, if one did.
    pub failure: Option<String>,
    /// Every chunk.
    pub timeline: Vec<PlayedView>,
}

/// A chunk of a session's timeline. Times are in seconds since the session began.
#[derive(Clone, Debug, Serialize)]
pub struct PlayedView {
    /// Its number, from 0.
    pub chunk: usize,
    /// Its position in the ladder.
    pub rung: usize,
    /// Bytes.
    pub bytes: u64,
    /// Time of the request, in seconds since the session began.
    pub requested_s: f64,
    /// Time of the last byte, in seconds since the session began.
    pub arrived_s: f64,
    /// Time at which the first picture is shown, in seconds since the session began.
    pub begins_s: f64,
    /// Rebuffering before it.
    pub stall_s: f64,
    /// Its quality, if the title has a table.
    pub quality: Option<f64>,
    /// Equation 1.
    pub qoe: Option<f64>,
    /// Throughput of its download, bits per second.
    pub throughput_bps: f64,
}

impl PlayResult {
    pub(super) fn new(number: usize, session: String, url: String) -> Self {
        Self {
            number,
            session,
            url,
            carrier: None,
            chunks: 0,
            of: 0,
            bytes: 0,
            other_bytes: 0,
            mean_bps: 0.0,
            metric: None,
            quality: None,
            qoe: None,
            startup_s: None,
            stalled_s: 0.0,
            stalls: 0,
            switches: 0,
            retries: 0,
            failure: None,
            timeline: Vec::new(),
        }
    }

    /// Takes the result of a session from its player's model.
    pub(super) fn take(
        &mut self,
        session: &Session,
        measured: bool,
        title: &Title,
        counts: &Counts,
    ) {
        let model = &session.model;
        let chunks = model.chunks();
        let began = model.start();
        let at = |t: Time| (t - began).as_secs_f64();
        let bytes = |c: &PlayedChunk| {
            (c.throughput_bps * (c.arrived - c.requested).as_secs_f64() / 8.0).round() as u64
        };
        self.chunks = chunks.len();
        self.bytes = chunks.iter().map(bytes).sum();
        self.other_bytes = counts.other_bytes();
        let played_s = title.video.chunk_s() * chunks.len() as f64;
        self.mean_bps = if played_s > 0.0 { self.bytes as f64 * 8.0 / played_s } else { 0.0 };
        let mean = |of: fn(&PlayedChunk) -> f64| {
            let n = chunks.len() as f64;
            (measured && n > 0.0).then(|| chunks.iter().map(of).sum::<f64>() / n)
        };
        (self.quality, self.qoe) = (mean(|c| c.quality), mean(|c| c.qoe));
        self.startup_s = model.startup().map(|d| d.as_secs_f64());
        // The sum of nothing is -0, which is not written so.
        self.stalled_s = chunks.iter().map(|c| c.stall.as_secs_f64()).sum::<f64>() + 0.0;
        self.stalls = chunks.iter().filter(|c| !c.stall.is_zero()).count();
        self.switches = chunks.windows(2).filter(|w| w[0].rung != w[1].rung).count();
        self.retries = counts.retries();
        self.failure = session.failure.as_ref().map(ToString::to_string);
        self.timeline = chunks
            .iter()
            .map(|c| PlayedView {
                chunk: c.chunk,
                rung: c.rung,
                bytes: bytes(c),
                requested_s: at(c.requested),
                arrived_s: at(c.arrived),
                begins_s: at(c.begins),
                stall_s: c.stall.as_secs_f64(),
                quality: measured.then_some(c.quality),
                qoe: measured.then_some(c.qoe),
                throughput_bps: c.throughput_bps,
            })
            .collect();
    }

    /// The result in a line.
    pub fn line(&self) -> String {
        use std::fmt::Write;
        let mut line = format!("session={} number={} url={}", self.session, self.number, self.url);
        // Writing to a String cannot fail.
        let mut put = |key: &str, value: String| {
            let _ = write!(line, " {key}={value}");
        };
        put("carrier", self.carrier.unwrap_or("none").to_owned());
        put("chunks", format!("{}/{}", self.chunks, self.of));
        put("mean_bps", format!("{:.0}", self.mean_bps));
        if let (Some(metric), Some(quality)) = (self.metric, self.quality) {
            put(metric, format!("{quality:.2}"));
        }
        if let Some(qoe) = self.qoe {
            put("qoe", format!("{qoe:.2}"));
        }
        if let Some(startup) = self.startup_s {
            put("startup_s", format!("{startup:.3}"));
        }
        put("stalled_s", format!("{:.3}", self.stalled_s));
        put("stalls", self.stalls.to_string());
        put("switches", self.switches.to_string());
        put("retries", self.retries.to_string());
        match &self.failure {
            None => put("result", "done".to_owned()),
            Some(why) => put("result", format!("failed ({why})")),
        }
        line
    }
}

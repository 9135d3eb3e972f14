//! `browsers.json`, version 1: what browsers saw. Times of a player are seconds since its page
//! began to play.

use std::fs;
use std::path::Path;

use airlane_base::InputError;
use airlane_media::Metric;
use serde::Deserialize;

/// Larger files are refused.
const MAX_BYTES: u64 = 256 << 20;
/// Players, runs and chunks in the file at most.
const MAX_ENTRIES: usize = 100_000;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Record {
    format: String,
    version: u32,
    /// The command that made it.
    pub(super) command: String,
    /// Version of dash.js.
    pub(super) dashjs: String,
    pub(super) setup: Setup,
    pub(super) runs: Vec<Run>,
}

/// Setup that was the same in all runs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Setup {
    pub(super) players: usize,
    /// Length of a run from the first player's beginning.
    pub(super) duration_s: f64,
    /// Schemes that were run, in this order, once per round.
    pub(super) schemes: Vec<Scheme>,
    pub(super) repeat: usize,
    pub(super) link: Link,
}

/// A policy of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scheme {
    Plain,
    Minerva,
}

/// Its capacity is a constant or a trace.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Link {
    pub(super) rate_bps: Option<f64>,
    pub(super) trace: Option<String>,
    /// Mean rate that the trace is scaled to.
    pub(super) trace_mean_bps: Option<f64>,
    /// Time in the trace at which the link began.
    #[serde(default)]
    pub(super) trace_offset_s: f64,
    pub(super) rtt_s: f64,
    pub(super) queue: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    pub(super) scheme: Scheme,
    pub(super) round: usize,
    /// Share of the processors' time that was used while it ran.
    pub(super) cpu: f64,
    /// From the link's beginning to the first player's.
    #[serde(default)]
    pub(super) link_s: f64,
    pub(super) players: Vec<Player>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Player {
    pub(super) title: String,
    pub(super) abr: Rule,
    #[serde(deserialize_with = "metric")]
    pub(super) metric: Metric,
    /// Time at which its page began to play, from when the first one did.
    pub(super) began_s: f64,
    pub(super) startup_s: Option<f64>,
    pub(super) stalls: Vec<Stall>,
    pub(super) chunks: Vec<Chunk>,
    /// Bytes of what came before the first chunk, one after the other: manifest, header.
    #[serde(default)]
    pub(super) opening_bytes: Vec<u64>,
    pub(super) faults: Vec<String>,
    /// Requests that failed below HTTP, as on a connection that was given up, and were made again.
    #[serde(default)]
    pub(super) failed_loads: Vec<String>,
    pub(super) frames: u64,
    pub(super) dropped_frames: u64,
    pub(super) server: ServerRecord,
}

/// Bitrate algorithm: ours, or one of dash.js's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rule {
    Mpc,
    Bola,
    Dynamic,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Stall {
    pub(super) from_s: f64,
    /// `None`: it lasts.
    pub(super) to_s: Option<f64>,
    /// Position in the video.
    pub(super) place_s: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Chunk {
    pub(super) kind: Kind,
    pub(super) rung: usize,
    pub(super) place_s: f64,
    pub(super) requested_s: f64,
    pub(super) arrived_s: f64,
    /// Time at which the browser's network sent the request, and time at which it had the last
    /// byte.
    pub(super) sent_s: Option<f64>,
    pub(super) received_s: Option<f64>,
    pub(super) bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Video,
    Audio,
}

/// Record of the session at the server.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ServerRecord {
    /// Time at which the server was asked, on its own clock.
    pub(super) now_s: f64,
    pub(super) sessions: Vec<Session>,
}

/// Time on the server's clock, rate, weight, buffer, quality, QoE.
pub(super) type Point = [Option<f64>; 6];

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Session {
    pub(super) history: Vec<Point>,
}

impl Record {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// If it cannot be read or is not what it should be.
    pub(super) fn read(file: &Path) -> Result<Self, InputError> {
        let io = |e: std::io::Error| InputError::io(file, "read what the browsers saw", &e);
        if fs::metadata(file).map_err(io)?.len() > MAX_BYTES {
            let found = format!("more than {} MiB", MAX_BYTES >> 20);
            return Err(InputError::new(found, "expected a smaller file").at_file(file));
        }
        let text = fs::read_to_string(file).map_err(io)?;
        Self::parse(&text).map_err(|e| e.at_file(file))
    }

    fn parse(text: &str) -> Result<Self, InputError> {
        let record: Self = serde_json::from_str(text).map_err(|e| {
            let expected = "expected what `make browsers` writes";
            InputError::new(e.to_string(), expected).at_line(e.line())
        })?;
        record.check()?;
        Ok(record)
    }

    fn check(&self) -> Result<(), InputError> {
        if (self.format.as_str(), self.version) != ("airlane-browsers", 1) {
            let found = format!("{} version {}", self.format, self.version);
            return Err(
                InputError::new(found, "expected airlane-browsers version 1").at_key("format")
            );
        }
        let wrong = |key: &str, found: String, expected: &str| {
            Err(InputError::new(found, format!("expected {expected}")).at_key(key))
        };
        let setup = &self.setup;
        let sound = |x: f64, most: f64| (0.0..=most).contains(&x);
        if !sound(setup.duration_s, 1e5) || setup.duration_s < 1.0 {
            return wrong("setup.duration_s", setup.duration_s.to_string(), "1 to 100000");
        }
        if !(1..=MAX_ENTRIES).contains(&self.runs.len())
            || !(1..=MAX_ENTRIES).contains(&setup.repeat)
        {
            return wrong("runs", self.runs.len().to_string(), "at least one, and not too many");
        }
        if !(1..=64).contains(&setup.players) {
            return wrong("setup.players", setup.players.to_string(), "1 to 64");
        }
        let link = &setup.link;
        if link.rate_bps.is_some() == link.trace.is_some() {
            let found = if link.trace.is_some() { "both" } else { "neither" };
            return wrong("setup.link", found.to_owned(), "one of rate_bps and trace");
        }
        if !sound(link.trace_offset_s, 1e6) {
            let found = link.trace_offset_s.to_string();
            return wrong("setup.link.trace_offset_s", found, "seconds from 0 on");
        }
        for (i, run) in self.runs.iter().enumerate() {
            let key = |what: &str| format!("runs.{i}.{what}");
            if run.round >= setup.repeat || !setup.schemes.contains(&run.scheme) {
                return wrong(&key("round"), run.round.to_string(), "a round of the setup");
            }
            if !sound(run.cpu, 1.0) {
                return wrong(&key("cpu"), run.cpu.to_string(), "a share");
            }
            if !sound(run.link_s, 1e3) {
                return wrong(&key("link_s"), run.link_s.to_string(), "seconds from 0 on");
            }
            if run.players.len() != setup.players {
                let expected = format!("{} of them", setup.players);
                return wrong(&key("players"), run.players.len().to_string(), &expected);
            }
            for player in &run.players {
                let times =
                    player.chunks.iter().flat_map(|c| [c.place_s, c.requested_s, c.arrived_s]);
                let network = player.chunks.iter().flat_map(|c| [c.sent_s, c.received_s]).flatten();
                let stalls = player.stalls.iter().flat_map(|s| [s.from_s, s.place_s]);
                let others = [player.began_s, player.startup_s.unwrap_or(0.0), player.server.now_s];
                if !times.chain(network).chain(stalls).chain(others).all(|t| sound(t, 1e7)) {
                    return wrong(&key("players"), "a time".to_owned(), "seconds from 0 on");
                }
                let opening = &player.opening_bytes;
                if opening.len() > MAX_ENTRIES || opening.contains(&0) {
                    let found = format!("{opening:?}");
                    return wrong(&key("players.opening_bytes"), found, "bytes of each, not zero");
                }
                if player.chunks.len() > MAX_ENTRIES {
                    return wrong(&key("players"), player.chunks.len().to_string(), "fewer chunks");
                }
            }
        }
        let first = &self.runs[0].players;
        let alike = |run: &Run| {
            run.players
                .iter()
                .zip(first)
                .all(|(a, b)| (&a.title, a.abr, a.metric) == (&b.title, b.abr, b.metric))
        };
        if let Some(i) = self.runs.iter().position(|run| !alike(run)) {
            return wrong(
                &format!("runs.{i}.players"),
                "other titles or rules".to_owned(),
                "those of the first run",
            );
        }
        Ok(())
    }

    /// The players as they were in all runs.
    pub(super) fn players(&self) -> &[Player] {
        &self.runs[0].players
    }

    /// The runs of a scheme, in the order of the rounds.
    pub(super) fn of(&self, scheme: Scheme) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.scheme == scheme)
    }
}

fn metric<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Metric, D::Error> {
    let name = String::deserialize(from)?;
    let known = Metric::ALL.into_iter().find(|m| m.name() == name);
    known.ok_or_else(|| serde::de::Error::custom(format!("{name:?} is no measure of quality")))
}

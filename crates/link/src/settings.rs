//! A link from `KEY=VALUE`, with the keys of the laboratory's scenarios (`docs/guide/link.md`).

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Seed};
use airlane_net::trace::{Medium, Trace, TraceOptions};
use airlane_net::{
    CodelConfig, Direction, GilbertElliott, Impairment, JitterLaw, Limit, OctopusConfig,
    PeriodicLoss, PieConfig, QueueSpec, RateProfile, Supply, Way,
};

use crate::spec::LinkSpec;

/// The way back of a scenario that names none: 10 Mbit/s and 1000 packets.
const UPLINK: [&str; 2] = ["rate_bps=10e6", "queue.limit_packets=1000"];
/// A made-up trace is so long, and then repeats.
const GENERATED: Duration = Duration::from_secs(600);
/// The round trip that a limit in BDP counts with on a link without delay: a scenario's default.
const QUEUE_RTT: Duration = Duration::from_millis(20);

impl LinkSpec {
    /// A link from settings such as `rate_bps=10e6`, `queue.kind=pie`, `loss.p=0.01`, for each
    /// direction. Of two of one key the later holds. A direction `up` without a capacity has that
    /// of a scenario's way back: 10 Mbit/s, and 1000 packets in front of it unless told otherwise.
    ///
    /// # Errors
    /// Names the direction, the key, what was found and what was expected; the file and line, if
    /// a trace is at fault.
    pub fn from_settings<S: AsRef<str>>(
        up: &[S],
        down: &[S],
        seed: Seed,
    ) -> Result<Self, InputError> {
        let mut up = Settings::read(Direction::Up, up)?;
        let down = Settings::read(Direction::Down, down)?;
        if !CAPACITIES.iter().any(|key| up.has(key)) {
            up.default(UPLINK[0]);
            if !LIMITS.iter().any(|key| up.has(key)) {
                up.default(UPLINK[1]);
            }
        }
        let (up_delay, down_delay) = (up.delay()?, down.delay()?);
        let rtt = match up_delay + down_delay {
            Duration::ZERO => QUEUE_RTT,
            rtt => rtt,
        };
        let up = up.way(up_delay, rtt, seed)?;
        let down = down.way(down_delay, rtt, seed)?;
        Ok(Self::new(up, down, seed))
    }
}

const CAPACITIES: [&str; 4] = ["rate_bps", "trace", "generator", "steps"];
const LIMITS: [&str; 3] = ["queue.limit_bdp", "queue.limit_bytes", "queue.limit_packets"];
const CHAIN: [&str; 4] =
    ["loss.p_good_to_bad", "loss.p_bad_to_good", "loss.p_loss_good", "loss.p_loss_bad"];
/// All keys.
const KEYS: [&str; 27] = [
    "rate_bps",
    "trace",
    "trace_column",
    "trace_mean_bps",
    "trace_scale",
    "trace_offset_s",
    "generator",
    "generator_outages",
    "steps",
    "delay_s",
    "rtt_s",
    "jitter_s",
    "queue.kind",
    "queue.limit_bdp",
    "queue.limit_bytes",
    "queue.limit_packets",
    "queue.target_s",
    "queue.bdp_rtt_s",
    "queue.bdp_rate_bps",
    "loss.kind",
    "loss.p",
    CHAIN[0],
    CHAIN[1],
    CHAIN[2],
    CHAIN[3],
    "loss.every",
    "loss.first",
];

/// The settings of one direction.
struct Settings {
    direction: Direction,
    values: BTreeMap<String, String>,
}

impl Settings {
    fn read<S: AsRef<str>>(direction: Direction, all: &[S]) -> Result<Self, InputError> {
        let mut settings = Self { direction, values: BTreeMap::new() };
        for setting in all {
            let setting = setting.as_ref();
            let Some((key, value)) = setting.split_once('=') else {
                let expected = "expected KEY=VALUE, such as rate_bps=10e6";
                return Err(settings.wrong(setting, "no value", expected));
            };
            let (key, value) = (key.trim(), value.trim().trim_matches('"'));
            if !KEYS.contains(&key) {
                let expected = format!("expected one of {}", KEYS.join(", "));
                return Err(settings.wrong(key, "no such key", expected));
            }
            settings.values.insert(key.to_owned(), value.to_owned());
        }
        Ok(settings)
    }

    fn default(&mut self, setting: &str) {
        if let Some((key, value)) = setting.split_once('=') {
            self.values.insert(key.to_owned(), value.to_owned());
        }
    }

    fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    fn wrong(
        &self,
        key: &str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> InputError {
        InputError::new(found, expected).at_key(format!("{}.{key}", self.direction))
    }

    /// A number from `least` to `most`.
    fn number(&self, key: &str, least: f64, most: f64) -> Result<Option<f64>, InputError> {
        let Some(text) = self.values.get(key) else { return Ok(None) };
        let expected = || format!("expected a number from {least} to {most}");
        let value: f64 =
            text.parse().map_err(|_| self.wrong(key, format!("`{text}`"), expected()))?;
        if !(least..=most).contains(&value) {
            return Err(self.wrong(key, format!("{text} is out of range"), expected()));
        }
        Ok(Some(value))
    }

    fn count(&self, key: &str, least: u64, most: u64) -> Result<Option<u64>, InputError> {
        let number = self.number(key, least as f64, most as f64)?;
        match number.filter(|n| n.fract() != 0.0) {
            Some(n) => Err(self.wrong(key, format!("{n}"), "expected a whole number")),
            None => Ok(number.map(|n| n as u64)),
        }
    }

    fn rate(&self, key: &str) -> Result<Option<Rate>, InputError> {
        Ok(self.number(key, 1e3, 1e12)?.map(Rate::from_bps_f64))
    }

    fn time(&self, key: &str, least: f64, most: f64) -> Result<Option<Duration>, InputError> {
        Ok(self.number(key, least, most)?.map(Duration::from_secs_f64))
    }

    fn word<'a>(&'a self, key: &str, words: &[&'a str]) -> Result<&'a str, InputError> {
        let Some(word) = self.values.get(key) else { return Ok(words[0]) };
        words.iter().find(|w| *w == word).copied().ok_or_else(|| {
            let expected = format!("expected one of {}", words.join(", "));
            self.wrong(key, format!("`{word}`"), expected)
        })
    }

    /// Refuses keys that say nothing here.
    fn refuse(&self, keys: &[&str], why: &str) -> Result<(), InputError> {
        match keys.iter().find(|key| self.has(key)) {
            Some(key) => Err(self.wrong(key, "has no meaning here", why)),
            None => Ok(()),
        }
    }

    fn delay(&self) -> Result<Duration, InputError> {
        let delay = self.time("delay_s", 0.0, 60.0)?;
        let half = self.time("rtt_s", 0.0, 60.0)?.map(|rtt| rtt / 2);
        if delay.is_some() {
            self.refuse(&["rtt_s"], "expected one of delay_s and rtt_s, which is twice as long")?;
        }
        Ok(delay.or(half).unwrap_or(Duration::ZERO))
    }

    fn way(&self, delay: Duration, rtt: Duration, seed: Seed) -> Result<Way, InputError> {
        let (supply, offset) = self.supply(seed)?;
        let queue = self.queue(supply.mean(), rtt)?;
        let jitter = self.time("jitter_s", 0.0, 10.0)?.filter(|j| !j.is_zero());
        let jitter =
            jitter.map(|j| Impairment::Jitter { law: JitterLaw::Uniform(j), reorder: false });
        let impairments = self.loss()?.into_iter().chain(jitter).collect();
        Ok(Way { supply, offset, queue, queue_rtt: rtt, delay, impairments })
    }

    fn supply(&self, seed: Seed) -> Result<(Supply, Duration), InputError> {
        let given: Vec<&str> = CAPACITIES.into_iter().filter(|key| self.has(key)).collect();
        let one = "expected exactly one of rate_bps, trace, generator and steps";
        let key = match given.as_slice() {
            [] => return Err(self.wrong("rate_bps", "missing", one)),
            [key] => *key,
            [_, second, ..] => return Err(self.wrong(second, "a second capacity", one)),
        };
        let of_traces = ["trace_scale", "trace_mean_bps", "trace_offset_s"];
        if key != "trace" {
            self.refuse(&["trace_column"], "expected `trace` beside it")?;
        }
        if key != "generator" {
            self.refuse(&["generator_outages"], "expected `generator` beside it")?;
        }
        let trace = match (key, &self.values[key]) {
            ("trace", file) => {
                let column = self.values.get("trace_column").cloned();
                Trace::load_with(file, &TraceOptions { column, ..TraceOptions::default() })?
            }
            ("generator", name) => {
                let at = |e: InputError| InputError { place: self.wrong(key, "", "").place, ..e };
                let seed = seed.split("trace").split(self.direction.name());
                let medium = Medium::from_str(name).map_err(at)?;
                let outages = self.number("generator_outages", 0.0, 1.0)?.unwrap_or(0.0);
                let at = |e: InputError| InputError {
                    place: self.wrong("generator_outages", "", "").place,
                    ..e
                };
                Trace::synthetic_with(medium, outages, seed, GENERATED).map_err(at)?
            }
            ("steps", text) => {
                self.refuse(&of_traces, "expected `trace` or `generator` beside it")?;
                let steps = steps(text)
                    .and_then(|steps| RateProfile::new(&steps, None))
                    .map_err(|e| e.at_key(format!("{}.steps", self.direction)))?;
                return Ok((Supply::Profile(Arc::new(steps)), Duration::ZERO));
            }
            _ => {
                self.refuse(&of_traces, "expected `trace` or `generator` beside it")?;
                let rate = self.rate("rate_bps")?.unwrap_or_default();
                return Ok((Supply::Constant(rate), Duration::ZERO));
            }
        };
        let trace = match self.rate("trace_mean_bps")? {
            Some(mean) => trace.scaled_to(mean)?,
            None => trace,
        };
        let scale = self.number("trace_scale", 1e-6, 1e6)?.unwrap_or(1.0);
        let offset = self.time("trace_offset_s", 0.0, 1e6)?.unwrap_or_default();
        let supply = trace.supply().scaled(scale);
        Ok((supply.map_err(|e| e.at_key(format!("{}.trace_scale", self.direction)))?, offset))
    }

    fn queue(&self, mean: Rate, rtt: Duration) -> Result<QueueSpec, InputError> {
        const KINDS: [&str; 6] =
            ["droptail", "pie", "octopus", "codel", "fq-codel", "priority-drop"];
        let kind = self.word("queue.kind", &KINDS)?;
        let bdp = self.number("queue.limit_bdp", 1e-3, 1e4)?;
        let bytes = self.count("queue.limit_bytes", 1_500, 1 << 40)?;
        let packets = self.count("queue.limit_packets", 1, 1 << 30)?;
        let one = "expected one of queue.limit_bdp, queue.limit_bytes and queue.limit_packets";
        if let Some(second) = LIMITS.into_iter().filter(|key| self.has(key)).nth(1) {
            return Err(self.wrong(second, "several limits", one));
        }
        let rate = self.rate("queue.bdp_rate_bps")?.unwrap_or(mean);
        let rtt = self.time("queue.bdp_rtt_s", 1e-5, 60.0)?.unwrap_or(rtt);
        let limit = match (bytes, packets) {
            (Some(bytes), _) => Limit::Bytes(bytes),
            (None, Some(packets)) => Limit::Packets(packets as usize),
            (None, None) => Limit::Bdp(bdp.unwrap_or(1.5)).fixed(rate, rtt),
        };
        if !["pie", "codel", "fq-codel"].contains(&kind) {
            let expected = "expected it beside queue.kind=pie, codel or fq-codel only";
            self.refuse(&["queue.target_s"], expected)?;
        }
        let target = self.time("queue.target_s", 1e-4, 10.0)?;
        let codel = || {
            let default = CodelConfig::default();
            CodelConfig { target: target.unwrap_or(default.target), ..default }
        };
        Ok(match kind {
            "droptail" => QueueSpec::DropTail(limit),
            "octopus" => QueueSpec::Octopus(limit, OctopusConfig::default()),
            "codel" => QueueSpec::Codel(limit, codel()),
            "fq-codel" => QueueSpec::FqCodel(limit, codel()),
            "priority-drop" => QueueSpec::PriorityDrop(limit),
            _ => {
                let default = PieConfig::default();
                let target = target.unwrap_or(default.target);
                QueueSpec::Pie(limit, PieConfig { target, ..default })
            }
        })
    }

    fn loss(&self) -> Result<Option<Impairment>, InputError> {
        let all: Vec<&str> = KEYS.into_iter().filter(|key| key.starts_with("loss.")).collect();
        if !all.iter().any(|key| self.has(key)) {
            return Ok(None);
        }
        let kind = self.word("loss.kind", &["bernoulli", "gilbert-elliott", "periodic"])?;
        let own: &[&str] = match kind {
            "gilbert-elliott" => &CHAIN,
            "periodic" => &["loss.every", "loss.first"],
            _ => &["loss.p"],
        };
        let others: Vec<&str> =
            all.into_iter().filter(|key| *key != "loss.kind" && !own.contains(key)).collect();
        self.refuse(&others, &format!("expected {} beside loss.kind={kind}", own.join(", ")))?;
        let needed = |key: &str| self.wrong(key, "missing", format!("loss.kind={kind} needs it"));
        let p = |key: &str| self.number(key, 0.0, 1.0);
        Ok(Some(match kind {
            "gilbert-elliott" => Impairment::GilbertElliott(GilbertElliott {
                to_bad: p(CHAIN[0])?.ok_or_else(|| needed(CHAIN[0]))?,
                to_good: p(CHAIN[1])?.ok_or_else(|| needed(CHAIN[1]))?,
                loss_good: p(CHAIN[2])?.unwrap_or(0.0),
                loss_bad: p(CHAIN[3])?.unwrap_or(1.0),
            }),
            "periodic" => {
                let every = self.count("loss.every", 1, 1 << 40)?;
                let every = every.ok_or_else(|| needed("loss.every"))?;
                let first = self.count("loss.first", 0, 1 << 40)?.unwrap_or(every - 1);
                Impairment::PeriodicLoss(PeriodicLoss { every, first })
            }
            _ => Impairment::Bernoulli(p("loss.p")?.ok_or_else(|| needed("loss.p"))?),
        }))
    }
}

/// Rows as a scenario has them: `[[0, 10e6], [60, 4e6]]`.
fn steps(text: &str) -> Result<Vec<(Duration, Rate)>, InputError> {
    let wrong = || {
        let expected = "expected rows of a time in s and a rate in bit/s, such as \
                        [[0, 10e6], [60, 4e6]]";
        InputError::new(format!("`{text}`"), expected)
    };
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let rows = dense.strip_prefix("[[").and_then(|t| t.strip_suffix("]]")).ok_or_else(wrong)?;
    let number = |text: &str, most: f64| {
        text.parse().ok().filter(|n: &f64| (0.0..=most).contains(n)).ok_or_else(wrong)
    };
    let row = |row: &str| {
        let (at, rate) = row.split_once(',').ok_or_else(wrong)?;
        let at = Duration::from_secs_f64(number(at, 1e6)?);
        Ok((at, Rate::from_bps_f64(number(rate, 1e12)?)))
    };
    rows.split("],[").map(row).collect()
}

//! The scenario that a claim is measured on.

use std::fmt::Write as _;
use std::path::Path;

use airlane_base::{InputError, Seed};

use super::spec::{Claim, ClaimSet, Scene, SceneQueue, Size};
use crate::scenario::Scenario;

impl ClaimSet {
    /// The scenario that `claim` of this set is measured on, with as many mixes and seeds as
    /// `size` says.
    ///
    /// Claims with the same stream of mixes get the same mixes in the same order, and all claims
    /// get the same seeds. The scenario's text ([`Source::text`](crate::scenario::Source)) is a
    /// whole scenario file: it repeats the runs without the claims.
    ///
    /// # Errors
    /// If the scene leaves out what no scenario can do without, or says what none can mean.
    pub fn scenario(&self, claim: &Claim, size: Size) -> Result<Scenario, InputError> {
        let text = self.scenario_text(claim, size).map_err(|what| {
            InputError::new(what, "expected it in claim.scene or defaults.scene")
                .at_key(claim.id.clone())
        })?;
        Scenario::from_bytes(text.as_bytes(), Path::new(&claim.id), &[])
    }

    fn scenario_text(&self, claim: &Claim, size: Size) -> Result<String, String> {
        let s = &claim.scene;
        let mut out = Text(String::new());
        let run_seeds = Seed(self.seed).split("runs");
        let seeds: Vec<u64> = (0..size.seeds as u64).map(|i| small(run_seeds.index(i))).collect();
        out.line("name", &format!("{:?}", claim.id));
        out.line("title", &format!("{:?}", claim.statement));
        out.given("duration_s", s.duration_s);
        out.line("seeds", &format!("{seeds:?}"));
        out.given("min_chunks", s.content_filter.map(|f| f.min_chunks));
        out.table("[link]");
        out.line("rate_bps", &mega(needed(s.link_mbps, "link_mbps")?));
        out.given("rtt_s", s.rtt_ms.map(|ms| ms / 1e3));
        out.given("uplink_rate_bps", s.uplink_mbps.map(mega));
        if let Some(queue) = &s.queue {
            out.line("queue", &queue_text(queue)?);
        }
        out.table("[transport]");
        out.given("payload_bytes", s.payload_bytes);
        out.given("cipher", s.cipher.as_ref().map(|c| format!("{c:?}")));
        if s.mtu_discovery == Some(true) {
            return Err("mtu_discovery, which no scenario has".to_owned());
        }
        out.table("[player]");
        out.given("abr", s.abr.as_ref().map(|a| format!("{a:?}")));
        out.given("horizon", s.horizon);
        out.given("buffer_cap_s", s.buffer_cap_s);
        out.given("overhead_s", s.chunk_overhead_s);
        // Baselines stand first in scenarios and last in claims.
        for scheme in s.schemes.iter().flatten().rev() {
            out.scheme(scheme, s)?;
        }
        for i in 0..needed(s.videos, "videos")? {
            out.table("[[viewer]]");
            out.given("start_s", s.starts_s.as_ref().and_then(|starts| starts.get(i)).copied());
        }
        out.table("[cases]");
        out.line("count", &size.pairs.to_string());
        let mixes = Seed(self.seed).split("mixes").split(&claim.mixes);
        out.line("seed", &small(mixes).to_string());
        Ok(out.0)
    }
}

/// A seed as scenario files have them: 32 bits.
fn small(seed: Seed) -> u64 {
    seed.0 >> 32
}

fn needed<T>(value: Option<T>, key: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("no {key}"))
}

fn mega(mbps: f64) -> String {
    format!("{}e6", mbps)
}

fn queue_text(queue: &SceneQueue) -> Result<String, String> {
    if queue.ecn {
        return Err("a queue with ecn, which no scenario has".to_owned());
    }
    let target = match queue.target_ms {
        Some(ms) => format!(", target_s = {}", ms / 1e3),
        None => String::new(),
    };
    Ok(format!("{{ kind = {:?}, limit_bdp = {}{target} }}", queue.kind, queue.limit_bdp))
}

struct Text(String);

impl Text {
    fn line(&mut self, key: &str, value: &str) {
        writeln!(self.0, "{key} = {value}").expect("a String takes it");
    }

    fn given(&mut self, key: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.line(key, &value.to_string());
        }
    }

    fn table(&mut self, header: &str) {
        writeln!(self.0, "\n{header}").expect("a String takes it");
    }

    fn scheme(&mut self, name: &str, scene: &Scene) -> Result<(), String> {
        self.table("[[scheme]]");
        self.line("name", &format!("{name:?}"));
        match name {
            "cubic" | "minerva" => {
                self.line("controller", "\"cubic\"");
                self.given("weight", scene.baseline_weight);
            }
            "bbr" => self.line("controller", "\"bbr\""),
            other => return Err(format!("the scheme \"{other}\", which no scenario has")),
        }
        if name == "minerva" {
            self.line("minerva", "{}");
        }
        Ok(())
    }
}

//! The peer: ns-3, as many builds of it as can be had.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use airlane_scenario::{Capacity, QueueLimit, Scenario};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bar::{Problem, Setting};

/// The script that makes the builds, and the folder that it makes them in.
const SCRIPT: &str = "scripts/bench/ns3_build.py";
const FOLDER: &str = "target/bench";

/// IP and UDP headers.
const HEADERS: u64 = 28;

/// A build of ns-3.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Build {
    version: String,
    origin: String,
    program: PathBuf,
}

/// The builds that there are, and why others are not.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Builds {
    builds: Vec<Build>,
    missing: Vec<String>,
}

/// Measurements of ns-3.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Run {
    pub(crate) goodput_bps: f64,
    /// Seconds of `Simulator::Run` alone.
    pub(crate) wall_s: f64,
    /// Seconds of the processor in it.
    pub(crate) cpu_s: f64,
    #[serde(flatten)]
    pub(crate) counts: Option<Counts>,
}

/// Measurements of ns-3 on a channel of 802.11.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct AirRun {
    /// Bits that came per second of virtual time.
    pub(crate) total_bps: f64,
    /// Packets that came.
    pub(crate) packets: u64,
    /// Seconds of the processor.
    pub(crate) cpu_s: f64,
}

/// Counts that it measures when it is asked to.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Counts {
    pub(crate) mean_queue_packets: f64,
    data_packets: u64,
    ack_packets: u64,
}

impl Counts {
    /// IP packets handed over, data and acknowledgements.
    pub(crate) fn packets(&self) -> u64 {
        self.data_packets + self.ack_packets
    }
}

impl Builds {
    /// Makes what is not made yet: this may download.
    pub(crate) fn make(setting: &Setting) -> Result<Self, Problem> {
        Self::make_of(setting, "cubic")
    }

    /// Those of the program with the medium of 802.11.
    pub(crate) fn medium(setting: &Setting) -> Result<Self, Problem> {
        Self::make_of(setting, "medium")
    }

    fn make_of(setting: &Setting, program: &str) -> Result<Self, Problem> {
        if !setting.root.join(SCRIPT).exists() {
            let why = format!("{SCRIPT} is not here: run the bench in the project's folder");
            return Err(Problem::Skipped(why));
        }
        let mut python = Command::new("python3");
        python.args([SCRIPT, FOLDER, program]).current_dir(&setting.root);
        let mut made: Self = answer(&mut python).map_err(Problem::Skipped)?;
        for build in &mut made.builds {
            build.program = setting.root.join(&build.program);
        }
        Ok(made)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Build] {
        &self.builds
    }

    /// One with Cubic's Reno-friendly region, which came with 3.40.
    pub(crate) fn faithful(&self) -> Option<&Build> {
        self.builds.iter().find(|b| b.minor() >= 40)
    }

    /// Reasons for which there are no more builds, for a note.
    pub(crate) fn missing(&self) -> String {
        self.missing.join("; ")
    }
}

impl Build {
    /// Its name, for people.
    pub(crate) fn name(&self) -> String {
        format!("ns-3 {} ({})", self.version, self.origin)
    }

    /// The y of 3.y.
    fn minor(&self) -> u32 {
        self.version.split('.').nth(1).and_then(|y| y.parse().ok()).unwrap_or(0)
    }

    /// Runs a scene of the medium for so many seconds.
    pub(crate) fn air(&self, options: &[String], seconds: u64) -> Result<AirRun, Problem> {
        let mut program = Command::new(&self.program);
        program.args(options).arg(format!("--seconds={seconds}"));
        answer(&mut program).map_err(|why| Problem::Broke(format!("{}: {}", self.name(), why)))
    }

    /// Runs a scene of one flow, or of as many as `more` says, further options of the program.
    pub(crate) fn run(&self, scene: &Scenario, more: &[impl AsRef<OsStr>]) -> Result<Run, Problem> {
        let way = scene.network.bottleneck().map(|way| (&way.capacity, way.queue.limit));
        let Some((Capacity::Constant(rate), QueueLimit::Bdp(bdp))) = way else {
            return Err(Problem::Broke("the peer takes a constant link with a BDP queue".into()));
        };
        let mut program = Command::new(&self.program);
        program
            .arg(format!("--rate={}", rate.as_f64()))
            .arg(format!("--rtt={}", scene.network.rtt.as_secs_f64()))
            .arg(format!("--bdp={bdp}"))
            .arg(format!("--duration={}", scene.duration.as_secs_f64()))
            .arg(format!("--ip={}", scene.transport.payload_bytes + HEADERS))
            .args(more);
        answer(&mut program).map_err(|why| Problem::Broke(format!("{}: {}", self.name(), why)))
    }
}

/// The JSON that a program prints.
fn answer<T: DeserializeOwned>(command: &mut Command) -> Result<T, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot run {name}: {e}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().last().unwrap_or("it says nothing");
        return Err(format!("{name}: {}: {last}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("{name} printed: {e}"))
}

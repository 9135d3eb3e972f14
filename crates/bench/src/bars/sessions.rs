//! Many sessions at one server over loopback: the airlane command serves, and plays them.

use std::process::Command;
use std::time::Duration;

use airlane_base::Seed;
use airlane_http_client::{Client, Speak, Url};
use airlane_quic::Trust;
use airlane_runtime::real_time::TokioRuntime;
use serde::Deserialize;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::clock::Watch;
use crate::metrics::Metrics;
use crate::process::{self, Running, Scratch, Usage};
use crate::title;

/// Buffer of the players: two chunks.
const BUFFER_S: u64 = 8;
/// Sessions that what a session takes is told apart from what the server takes.
const FEW: usize = 10;

/// Load of a measurement.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Before the names of the rows.
    name: &'static str,
    sessions: usize,
    /// Time between the beginnings of two sessions.
    stagger: Duration,
    /// With all of them there.
    seconds: u64,
    /// Algorithm by which players choose rungs.
    abr: &'static str,
    /// The rate of half quality of the title, which its rungs follow.
    half_quality_bps: f64,
    /// Rule for the time that weights take.
    updates: Rule,
}

/// As many as an evening's film has at a small provider.
const HUNDREDS: Load = Load {
    name: "sessions",
    sessions: 500,
    stagger: Duration::from_millis(20),
    seconds: 60,
    abr: "robust-mpc",
    half_quality_bps: title::HALF_QUALITY_BPS,
    updates: Rule::AtMost(2.0),
};
/// As many as two cores can serve and play at once: on the lowest rung of a title that takes little.
const THOUSANDS: Load = Load {
    name: "sessions.5000",
    sessions: 5000,
    stagger: Duration::from_millis(6),
    seconds: 30,
    abr: "fixed:0",
    half_quality_bps: title::HALF_QUALITY_BPS / 4.0,
    updates: Rule::Reported,
};

impl Load {
    /// Until the last one has come.
    fn gathering(self) -> Duration {
        self.stagger * u32::try_from(self.sessions).unwrap_or(u32::MAX)
    }

    fn whole(self) -> Duration {
        self.gathering() + Duration::from_secs(self.seconds)
    }
}

/// Part of a session's result that is read.
#[derive(Debug, Deserialize)]
struct Played {
    number: u32,
    failure: Option<String>,
    carrier: Option<String>,
    retries: u32,
    stalls: u32,
    mean_bps: f64,
    timeline: Vec<PlayedChunk>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct PlayedChunk {
    requested_s: f64,
    arrived_s: f64,
}

/// The server's counters.
#[derive(Clone, Copy, Debug)]
struct Counters {
    updates: f64,
    seconds: f64,
}

/// Result of a run.
struct Run {
    played: Vec<Played>,
    /// Memory of the server, with all sessions there.
    resident_bytes: f64,
    peak_bytes: u64,
    /// Of a core, with all sessions there.
    server: f64,
    players: f64,
    updating: f64,
    updates_per_s: f64,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let loads = match setting.quick {
        true => vec![Load { sessions: 50, seconds: 5, ..HUNDREDS }],
        false => vec![HUNDREDS, THOUSANDS],
    };
    let mut figures = Vec::new();
    for load in loads {
        figures.extend(figures_of(load)?);
    }
    Ok(figures)
}

/// Those of a server that has these sessions alone.
fn figures_of(load: Load) -> Result<Vec<Figure>, Problem> {
    let folder = Scratch::new(load.name)?;
    // Players that have all of it end, and have their buffer and a chunk ahead of what they play.
    let seconds = load.whole().as_secs() + BUFFER_S + title::CHUNK_S;
    let wrote = title::write(&folder.path("www/film"), seconds, load.half_quality_bps);
    wrote.map_err(|e| Problem::Broke(format!("the title: {e}")))?;
    let (server, address, admin) = process::serve(&folder)?;
    let at = (address.as_str(), admin.as_str());
    let few = run(&server, at, &folder, Load { sessions: FEW, seconds: 5, ..load })?;
    let all = run(&server, at, &folder, load)?;

    let per_session = (all.resident_bytes - few.resident_bytes) / (load.sessions - FEW) as f64;
    let failed = all.played.iter().filter(|p| {
        p.failure.is_some() || p.timeline.is_empty() || p.carrier.as_deref() != Some("h3")
    });
    let failures: Vec<String> = failed.map(|p| format!("{:?}", p.failure)).collect();
    let sum = |of: fn(&Played) -> u32| all.played.iter().map(of).sum::<u32>();
    let mut latencies = latencies(&all.played, load);
    latencies.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| {
        let last = latencies.len().checked_sub(1)?;
        latencies.get((last as f64 * q) as usize).map(|s| s * 1e3)
    };
    let p99 = at(0.99).ok_or_else(|| Problem::Broke("no chunk came".to_owned()))?;
    let figure = |what: &str, ours: f64, unit: &'static str, rule: Rule, note: String| Figure {
        bar: format!("{}.{what}", load.name),
        ours,
        peer: None,
        unit,
        rule,
        note,
    };
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    Ok(vec![
        figure(
            "failed",
            (load.sessions - all.played.len() + failures.len()) as f64,
            "sessions",
            Rule::AtMost(0.0),
            format!(
                "airlane serve and airlane play -n {} --abr {} over loopback and HTTP/3, in \
                 chunks of 4 s, {} s with all sessions there, which come \
                 {:?} after each other, and a status page that asks each second; {:.2} Mbit/s of video each in the median, {} \
                 requests made again, {} stalls; the server takes {:.2} of a core, the players \
                 {:.2}{}",
                load.sessions,
                load.abr,
                load.seconds,
                load.stagger,
                median(all.played.iter().map(|p| p.mean_bps)) / 1e6,
                sum(|p| p.retries),
                sum(|p| p.stalls),
                all.server,
                all.players,
                failures.first().map(|f| format!("; the first failed: {f}")).unwrap_or_default(),
            ),
        ),
        figure(
            "latency",
            p99,
            "ms",
            // A hundredth of what a chunk plays for: more would show in what players measure.
            Rule::AtMost(40.0),
            format!(
                "from the request to the last byte of a chunk, 99th percentile of the {} that were \
                 asked for while all sessions were there; median {:.1} ms, longest {:.1} ms",
                latencies.len(),
                at(0.5).unwrap_or(f64::NAN),
                at(1.0).unwrap_or(f64::NAN),
            ),
        ),
        figure(
            "memory",
            per_session / 1024.0,
            "KiB/session",
            Rule::AtMost(150.0),
            format!(
                "resident memory of the server, median over the time with all sessions there, with \
                 {} sessions ({:.1} MiB) less that with {FEW} ({:.1} MiB), over {}; what is on its \
                 way to the players included; at the peak {:.1} MiB",
                load.sessions,
                mib(all.resident_bytes),
                mib(few.resident_bytes),
                load.sessions - FEW,
                mib(all.peak_bytes as f64),
            ),
        ),
        figure(
            "updates",
            all.updating * 100.0,
            "% of a core",
            load.updates,
            format!(
                "time that the server says it took to set weights and to look whether to, waits \
                 for a core included; {:.1} weights set per second",
                all.updates_per_s
            ),
        ),
    ])
}

/// Seconds that chunks took that were asked for with all sessions there. Sessions count from their
/// beginning.
fn latencies(played: &[Played], load: Load) -> Vec<f64> {
    let there = |p: &Played, c: &PlayedChunk| {
        (load.stagger * p.number).as_secs_f64() + c.requested_s >= load.gathering().as_secs_f64()
    };
    let of = |p: &Played| -> Vec<f64> {
        let chunks = p.timeline.iter().filter(|c| there(p, c));
        chunks.map(|c| c.arrived_s - c.requested_s).collect()
    };
    played.iter().flat_map(of).collect()
}

/// Has sessions played, and watches the server.
fn run(
    server: &Running,
    (address, admin): (&str, &str),
    folder: &Scratch,
    load: Load,
) -> Result<Run, Problem> {
    let broke = |e: &dyn std::fmt::Display| Problem::Broke(e.to_string());
    let dump = folder.path("played.json");
    let mut command = Command::new(process::airlane()?);
    command.args(["play", "--quiet", "--insecure", "--http", "3"]);
    command.arg(format!("{address}/film/manifest.mpd"));
    command.arg(format!("--sessions={}", load.sessions));
    command.arg(format!("--stagger={}", load.stagger.as_secs_f64()));
    command.arg(format!("--abr={}", load.abr));
    command.arg(format!("--buffer={BUFFER_S}"));
    command.arg(format!("--duration={}", load.whole().as_secs_f64()));
    command.arg("--dump").arg(&dump);
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let threads = threads.map_err(|e| broke(&e))?;
    threads.block_on(async {
        let client = Client::new(TokioRuntime::new(Seed(1)), Trust::Anyone, Speak::Http1);
        let client = client.map_err(|e| broke(&e))?;
        let mut page = StatusPage { client: &client, admin, since_s: 0.0 };
        let mut players = Running::start("airlane play", &mut command)?;
        let watch = Watch::start();
        let until = async |time: Duration| client.pause(time.saturating_sub(watch.elapsed())).await;
        for second in 1..=load.gathering().as_secs() {
            until(Duration::from_secs(second)).await;
            page.look().await?;
        }
        until(load.gathering()).await;
        let before = (server.usage()?, players.usage()?, counters(&client, admin).await?);
        let mut resident = Vec::new();
        let mut last = before;
        // The last look is while all of them still play.
        for second in 1..load.seconds {
            until(load.gathering() + Duration::from_secs(second)).await;
            if players.ended()?.is_some() {
                return Err(Problem::Broke("the players ended before the last look".into()));
            }
            last.0 = server.usage()?;
            last.1 = players.usage()?;
            resident.push(last.0.resident_bytes as f64);
            page.look().await?;
        }
        let seconds = (watch.elapsed() - load.gathering()).as_secs_f64();
        last.2 = counters(&client, admin).await?;
        while players.ended()?.is_none() {
            client.pause(Duration::from_millis(500)).await;
        }
        let text = std::fs::read(&dump).map_err(|e| broke(&e))?;
        let cores = |end: Usage, start: Usage| (end.cpu - start.cpu).as_secs_f64() / seconds;
        Ok(Run {
            played: serde_json::from_slice(&text).map_err(|e| broke(&e))?,
            resident_bytes: median(resident),
            peak_bytes: last.0.peak_bytes,
            server: cores(last.0, before.0),
            players: cores(last.1, before.1),
            updating: (last.2.seconds - before.2.seconds) / seconds,
            updates_per_s: (last.2.updates - before.2.updates) / seconds,
        })
    })
}

/// The page of an operator, who looks at all sessions.
struct StatusPage<'a> {
    client: &'a Client,
    admin: &'a str,
    /// Of which time the newest points are that it has, s.
    since_s: f64,
}

impl StatusPage<'_> {
    /// Asks as the page does each second.
    async fn look(&mut self) -> Result<(), Problem> {
        #[derive(Deserialize)]
        struct Answer {
            now_s: f64,
        }
        let at = format!("{}/airlane/sessions?since={}", self.admin, self.since_s);
        let broke = |e: &dyn std::fmt::Display| Problem::Broke(format!("the status page: {e}"));
        let at = Url::parse(&at).map_err(|e| broke(&e))?;
        let answer = self.client.get_all(&at, None, 1 << 30).await.map_err(|e| broke(&e))?;
        let answer: Answer = serde_json::from_slice(&answer.0).map_err(|e| broke(&e))?;
        // Points are of full seconds.
        self.since_s = answer.now_s - 1.0;
        Ok(())
    }
}

async fn counters(client: &Client, admin: &str) -> Result<Counters, Problem> {
    let metrics = Metrics::read(client, admin).await?;
    Ok(Counters {
        updates: metrics.sum("airlane_weight_updates_total")?,
        seconds: metrics.sum("airlane_weight_update_seconds_total")?,
    })
}

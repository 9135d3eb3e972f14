//! Bulk over loopback: the server and the client that ship, beside noq's own endpoint and Caddy, and on
//! one core beside two.

mod caddy;
mod ours;
pub(crate) mod peer;

use std::time::Duration;

use airlane_sim::pool::available_cores;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use self::peer::Windows;
use crate::bar::{Figure, Problem, Rule, Setting, median};

/// Objects that are fetched, one after the other on each connection.
#[derive(Clone, Copy, Debug)]
struct Load {
    object_bytes: u64,
    objects: usize,
    connections: usize,
}

/// Result of a run.
#[derive(Clone, Copy, Debug)]
struct Moved {
    bytes: u64,
    wall: Duration,
    /// Processor time of the server and of the client.
    server: Duration,
    client: Duration,
}

impl Moved {
    fn gbps(&self) -> f64 {
        self.bytes as f64 * 8e-9 / self.wall.as_secs_f64()
    }

    /// Processor seconds per 10^9 bytes, at the server and at the client.
    fn cpu_per_gb(&self) -> [f64; 2] {
        [self.server, self.client].map(|cpu| cpu.as_secs_f64() / (self.bytes as f64 * 1e-9))
    }
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let load = match setting.quick {
        true => Load { object_bytes: 64 << 20, objects: 1, connections: 1 },
        false => Load { object_bytes: 256 << 20, objects: 4, connections: 1 },
    };
    let site = ours::Site::new(load)?;
    let (mut airlane, mut noq) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..setting.rounds(5) {
        airlane.push(site.run(load)?);
        for (windows, runs) in Windows::ALL.into_iter().zip(&mut noq) {
            runs.push(peer::run(windows, load)?);
        }
    }
    let rate = |runs: &[Moved]| median(runs.iter().map(Moved::gbps));
    let rates = noq.each_ref().map(|runs| rate(runs));
    let best = usize::from(rates[1] > rates[0]);
    let cpu = |runs: &[Moved]| {
        let side = |i: usize| median(runs.iter().map(|m| m.cpu_per_gb()[i]));
        format!("{:.2} and {:.2}", side(0), side(1))
    };
    let bulk = Figure {
        bar: "serve.bulk".into(),
        ours: rate(&airlane),
        peer: Some(rates[best]),
        unit: "Gbit/s",
        rule: Rule::TimesPeer(0.8),
        note: format!(
            "{} x {} MiB one after the other on one connection over loopback, from the first \
             request to the last byte, medians; airlane serve and its client over HTTP/3, files \
             from the page cache; noq 1.4.0 on bare streams, from memory, its Cubic, GSO, GRO and \
             MTU discovery: {:.2} with its own windows, {:.2} with larger ones and 4 MiB for its \
             sockets, of which the faster is the peer; AES-128-GCM by ring, a process for the \
             server and one for the client, each on tokio with a thread per core; seconds of \
             processor time per 10^9 bytes at server and client: ours {}, the peer's {}",
            load.objects,
            load.object_bytes >> 20,
            rates[0],
            rates[1],
            cpu(&airlane),
            cpu(&noq[best]),
        ),
    };
    let mut figures = vec![bulk];
    figures.push(beside_caddy(setting, &site, load)?);
    drop(site);
    figures.push(on_two_cores(setting, load)?);
    Ok(figures)
}

/// The same load from Caddy, by our client.
fn beside_caddy(setting: &Setting, site: &ours::Site, load: Load) -> Result<Figure, Problem> {
    let caddy = caddy::Caddy::start(site.folder())?;
    let (mut airlane, mut other) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds(5) {
        airlane.push(site.run(load)?);
        other.push(caddy.run(load)?);
    }
    let rate = |runs: &[Moved]| median(runs.iter().map(Moved::gbps));
    Ok(Figure {
        bar: "serve.caddy".into(),
        ours: rate(&airlane),
        peer: Some(rate(&other)),
        unit: "Gbit/s",
        rule: Rule::TimesPeer(2.0),
        note: format!(
            "the same, in turn with Caddy {} serving the same file with the same certificate, both \
             asked by airlane's client",
            caddy.version()
        ),
    })
}

/// Several connections, with server and client on one core together, then on two.
fn on_two_cores(setting: &Setting, load: Load) -> Result<Figure, Problem> {
    if available_cores() < 2 {
        return Err(Problem::Skipped("it takes two cores".into()));
    }
    let load = Load { objects: 1, connections: 8, object_bytes: load.object_bytes / 4 };
    let rates = |cores: &[usize]| {
        // What is started from here on, threads and processes, stays on them.
        let _pinned = Pinned::to(cores)?;
        let site = ours::Site::new(load)?;
        let runs: Result<Vec<_>, _> = (0..setting.rounds(5)).map(|_| site.run(load)).collect();
        Ok::<_, Problem>(median(runs?.iter().map(Moved::gbps)))
    };
    let (one, two) = (rates(&[0])?, rates(&[0, 1])?);
    Ok(Figure {
        bar: "serve.cores".into(),
        ours: two / one,
        peer: None,
        unit: "x",
        rule: Rule::AtLeast(1.7),
        note: format!(
            "{} connections from as many sockets with {} MiB each over HTTP/3; server and client \
             together on one core ({one:.2} Gbit/s), then on two ({two:.2} Gbit/s), medians: on two \
             cores a client that has one to itself leaves the server one",
            load.connections,
            load.object_bytes >> 20,
        ),
    })
}

/// This thread is on some cores alone, until this is dropped.
struct Pinned(CpuSet);

impl Pinned {
    fn to(cores: &[usize]) -> Result<Self, Problem> {
        let broke = |e| Problem::Skipped(format!("threads cannot be bound to cores: {e}"));
        let before = sched_getaffinity(None).map_err(broke)?;
        let mut wanted = CpuSet::new();
        for core in cores {
            wanted.set(*core);
        }
        sched_setaffinity(None, &wanted).map_err(broke)?;
        Ok(Self(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // What it was before is allowed.
        let _ = sched_setaffinity(None, &self.0);
    }
}

//! Bulk over loopback: the server and the client that ship, beside noq's own endpoint.

mod ours;
pub(crate) mod peer;

use std::time::Duration;

use self::peer::Windows;
use crate::bar::{Figure, Problem, Rule, Setting, median};

/// What is fetched, one object after the other on one connection.
#[derive(Clone, Copy, Debug)]
struct Load {
    object_bytes: u64,
    objects: usize,
}

/// What came of a run.
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
        true => Load { object_bytes: 64 << 20, objects: 1 },
        false => Load { object_bytes: 256 << 20, objects: 4 },
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
    Ok(vec![Figure {
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
    }])
}

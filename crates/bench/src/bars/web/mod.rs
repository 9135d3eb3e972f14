//! Static files over TLS and TCP, fetched by h2load, beside nginx with sendfile.

mod h2load;
mod nginx;

use self::h2load::{Load, Version};
use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::process::{self, Scratch};

/// A kind of file, and what is asked of it.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    bytes: usize,
    requests: usize,
    bar: f64,
}

const KINDS: [Kind; 3] = [
    Kind { name: "4MB", bytes: 4 << 20, requests: 600, bar: 0.95 },
    Kind { name: "100kB", bytes: 100 << 10, requests: 16_000, bar: 0.8 },
    Kind { name: "1kB", bytes: 1 << 10, requests: 120_000, bar: 0.6 },
];

/// Connections at a time, and over HTTP/2 requests at a time on each.
const CONNECTIONS: usize = 32;
const STREAMS: usize = 4;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let folder = Scratch::new("web")?;
    for kind in KINDS {
        // Not zeros: nobody compresses them, but a disk might.
        let bytes: Vec<u8> = (0..kind.bytes).map(|n| (n * 31 % 251) as u8).collect();
        std::fs::write(folder.path("www").join(kind.name), bytes)
            .map_err(|e| Problem::Broke(format!("a file: {e}")))?;
    }
    let (ours, address, _) = process::serve(&folder)?;
    let nginx = nginx::Nginx::start(&folder)?;
    let mut figures = Vec::new();
    for version in [Version::Http1, Version::Http2] {
        for kind in KINDS {
            let requests = if setting.quick { kind.requests / 10 } else { kind.requests };
            let load = Load { version, requests, connections: CONNECTIONS, streams: STREAMS };
            let (mut own, mut peer) = (Vec::new(), Vec::new());
            for _ in 0..setting.rounds(5) {
                own.push(load.run(&format!("{address}/{}", kind.name))?);
                peer.push(load.run(&format!("{}/{}", nginx.address(), kind.name))?);
            }
            figures.push(Figure {
                bar: format!("web.{}.{}", version.name(), kind.name),
                ours: median(own),
                peer: Some(median(peer)),
                unit: "requests/s",
                rule: Rule::TimesPeer(kind.bar),
                note: format!(
                    "{requests} requests for one file of {} bytes over TLS 1.3 on {CONNECTIONS} \
                     connections over loopback{}, medians, in turn with the peer's; {} with a \
                     worker per core, sendfile and tcp_nopush on and no access log, the same \
                     certificate; client {}, one thread",
                    kind.bytes,
                    match version {
                        Version::Http1 => String::new(),
                        Version::Http2 => format!(", {STREAMS} at a time on each"),
                    },
                    nginx.version(),
                    h2load::version()?,
                ),
            });
        }
    }
    drop(ours);
    Ok(figures)
}

//! The bars, in the order of the table.

mod air;
mod airtime;
mod browsers;
mod call_faults;
mod calls;
mod cores;
mod demo;
mod elements;
mod encode;
mod fuzz;
mod link;
mod live;
mod ns3;
mod octopus;
mod peers;
mod players;
mod plum;
mod python;
pub(crate) mod registry;
mod relay;
pub(crate) mod scale;
pub(crate) mod serve;
mod sessions;
mod sfu;
mod soak;
mod speed;
mod stalled;
pub(crate) mod tunnel;
mod update;
mod web;

use crate::bar::Bar;

/// Those that run unless others are named.
pub(crate) const BARS: &[Bar] = &[
    Bar {
        name: "ns3",
        about: "one Cubic flow beside ns-3: goodput and queue",
        measure: ns3::measure,
    },
    Bar {
        name: "speed",
        about: "the same scene: packets per second beside ns-3",
        measure: speed::measure,
    },
    Bar {
        name: "players",
        about: "four players on 10 Mbit/s: faster than real time",
        measure: players::measure,
    },
    Bar {
        name: "elements",
        about: "network elements alone: packets per second",
        measure: elements::measure,
    },
    Bar {
        name: "scale",
        about: "8, 80 and 800 flows: packets per second beside ns-3, memory per flow",
        measure: scale::measure,
    },
    Bar {
        name: "air",
        about: "the medium of 802.11 beside ns-3: saturated, and under a transfer",
        measure: air::measure,
    },
    Bar {
        name: "update",
        about: "Minerva's weight update, value function included",
        measure: update::measure,
    },
    Bar {
        name: "plum",
        about: "Plum's optimiser: time, and utility beside SciPy's SLSQP",
        measure: plum::measure,
    },
    Bar {
        name: "python",
        about: "the Python package: runs, a controller, environments, Ray on two cores",
        measure: python::measure,
    },
    Bar {
        name: "octopus",
        about: "Octopus' decision core: pairs of a packet that comes and one that leaves",
        measure: octopus::measure,
    },
    Bar {
        name: "live",
        about: "live video over one cell: faster than real time",
        measure: live::measure,
    },
    Bar {
        name: "encode",
        about: "raw video encoded in real time for two viewers: pictures shown",
        measure: encode::measure,
    },
    Bar {
        name: "airtime",
        about: "a large capture of 802.11: bytes per second, memory",
        measure: airtime::measure,
    },
    Bar { name: "cores", about: "many runs over two cores", measure: cores::measure },
    Bar { name: "demo", about: "airlane demo after the build", measure: demo::measure },
    Bar {
        name: "link",
        about: "the link in real time: delivery times beside what they must be",
        measure: link::precision,
    },
    Bar {
        name: "link_udp",
        about: "the UDP forwarder: what one core moves",
        measure: link::forward,
    },
    Bar {
        name: "relay",
        about: "Octopus between viewers and a sender: what one core moves, what the element adds",
        measure: relay::measure,
    },
    Bar { name: "link_tcp", about: "TCP through a pair of devices", measure: link::tcp },
    Bar {
        name: "serve",
        about: "the server over loopback: bulk beside noq's own endpoint",
        measure: serve::measure,
    },
    Bar {
        name: "web",
        about: "static files over TLS and TCP, beside nginx",
        measure: web::measure,
    },
    Bar {
        name: "sessions",
        about: "500 sessions at the server over loopback: latency, memory, weights",
        measure: sessions::measure,
    },
    Bar {
        name: "stalled",
        about: "one address takes nothing of 10 000 answers: what others wait for",
        measure: stalled::measure,
    },
    Bar {
        name: "registry",
        about: "what is kept and shown of 20 000 sessions: memory, and how long requests wait",
        measure: registry::measure,
    },
    Bar {
        name: "browsers",
        about: "four browsers behind the link, beside the laboratory: half an hour",
        measure: browsers::measure,
    },
    Bar {
        name: "calls",
        about: "calls in Chromium on half-duplex links, with Plum and without: half an hour",
        measure: calls::measure,
    },
    Bar {
        name: "call_faults",
        about: "faults in a call in Chromium: how soon it goes on",
        measure: call_faults::measure,
    },
    Bar {
        name: "sfu",
        about: "100 participants at the conference server: loss, latency, and cost beside Janus",
        measure: sfu::measure,
    },
    Bar {
        name: "tunnel",
        about: "the tunnel between namespaces, beside each path, kernel MPTCP and the laboratory: \
                a quarter of an hour",
        measure: tunnel::measure,
    },
    Bar { name: "fuzz", about: "the parsers' fuzz targets, a minute each", measure: fuzz::measure },
];

/// Those that run only if they are named: they take too long beside the others.
pub(crate) const NAMED: &[Bar] = &[Bar {
    name: "soak",
    about: "a server for an hour, while clients, certificates and titles come and go: memory",
    measure: soak::measure,
}];

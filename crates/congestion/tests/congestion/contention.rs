//! Flows that contend for a link, each packet acknowledged by itself.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};

use crate::harness::{AckPolicy, Discipline, Flow, Outcome, PACKET_BYTES, Scene, run};

/// Time between frames of a medium.
const FRAME_INTERVAL: Duration = Duration::from_millis(20);

/// A flow on a link.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// SCReAM with frames at the rate that it gives.
    Media,
    /// It or another that always has data.
    Bulk(Algorithm),
}

/// Flows of these kinds on a link, from 20 s to 60 s.
pub fn contend(kinds: &[Kind], discipline: Discipline, mbps: f64, rtt_ms: u64) -> Outcome {
    let scene = Scene {
        discipline,
        service: Rate::from_mbps(mbps).time_for(PACKET_BYTES + 28),
        jitter: 1.0,
        duration: Duration::from_secs(60),
        warmup: Duration::from_secs(20),
        seed: Seed(3),
    };
    let flow = |kind: &Kind| {
        let algorithm =
            if let Kind::Bulk(algorithm) = kind { *algorithm } else { Algorithm::Scream };
        let config = ControllerConfig::new(algorithm);
        let controller = config.build(Time::ZERO, PACKET_BYTES, Seed(1));
        let mut flow = Flow::new(controller, Duration::from_millis(rtt_ms));
        flow.acks = AckPolicy::EACH;
        flow.burst = 1.0;
        flow.frames = (*kind == Kind::Media).then_some(FRAME_INTERVAL);
        flow
    };
    run(&scene, kinds.iter().map(flow).collect())
}

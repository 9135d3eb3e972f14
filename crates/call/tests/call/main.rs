//! Calls in virtual time.

mod world;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Rate;
use airlane_call::{CoordinationConfig, Optimiser, ParticipantConfig, ServerConfig};
use airlane_plum::{CoordinatorConfig, Target};

use crate::world::{call, half_duplex, link};

#[test]
fn probe() {
    for (name, coordination) in [("vanilla", None), ("0.8", Some(0.8)), ("0.2", Some(0.2))] {
        let config = ServerConfig {
            coordination: coordination.map(|up| CoordinationConfig {
                coordinator: CoordinatorConfig::default(),
                optimiser: Optimiser(Arc::new(move |rates: &[Rate]| {
                    Some(
                        rates
                            .iter()
                            .enumerate()
                            .map(|(i, rate)| {
                                let _ = i;
                                if rate.mbps() > 25.0 {
                                    return Target { up: *rate, down: *rate };
                                }
                                Target { up: rate.scale(up), down: rate.scale(1.0 - up) }
                            })
                            .collect(),
                    )
                })),
                restores: true,
            }),
            ..ServerConfig::default()
        };
        let accesses = vec![half_duplex(12.0), link(50.0), link(50.0), link(50.0)];
        let length = Duration::from_secs(60);
        let outcome = call(accesses, config, |i| ParticipantConfig::new(format!("p{i}")), length);
        println!("== {name} {:?}", outcome.ended);
        for i in 0..4 {
            println!(
                "client {i}: {:.2} Mbit/s, delay p95 {:.3} s, frames {}",
                outcome.received_mbps(i, Duration::from_secs(5), length),
                outcome.delay_p95(i),
                outcome.shown[i].len()
            );
        }
        {
            let (id, records) = (0, outcome.channel(0));
            for record in records.iter().step_by(40).take(16) {
                let m = |r: Option<Rate>| r.map_or(-1.0, Rate::mbps);
                println!(
                    "{id} {:?} B {:.2} est {:.2} {:.2} media {:.2} {:.2} {:?} target {:.2} dropped {}",
                    record.at,
                    m(record.capacity),
                    m(record.up_estimate),
                    m(record.down_estimate),
                    record.up_media.mbps(),
                    record.down_media.mbps(),
                    record.state,
                    m(record.target),
                    record.dropped
                );
            }
        }
    }
}

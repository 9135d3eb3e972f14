//! A peer that has the keys sends any frames to a session that sends messages of its own: what is
//! acknowledged, delivered and kept stays within what there is.
#![no_main]

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_messages::{Config, Event, Ids, Protection, ReceiveLimits, SendOptions, Session};
use airlane_octopus::{HEADER_BYTES, Marking};
use bytes::Bytes;

const PAYLOAD: u16 = 1_200;
const LOCAL: u32 = 7;
/// The tag of the null cipher.
const NO_SEAL: &[u8; 16] = b"airlane-no-seal!";

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut session = Session::new(
        Time::ZERO,
        Config {
            payload_bytes: PAYLOAD,
            controller: ControllerConfig::new(Algorithm::Bbr).build(Time::ZERO, PAYLOAD.into(), Seed(1)),
            send: SendOptions::default(),
            receive: ReceiveLimits::default(),
            protection: Protection::Null,
            ids: Ids { local: LOCAL, remote: 8 },
            key_packets: None,
        },
    );
    let (mut now, mut out, mut sent, mut rest) = (Time::ZERO, Vec::new(), 0_u64, data);
    while let [op, length, more @ ..] = rest {
        let (bytes, more) = more.split_at(usize::from(*length).min(more.len()));
        rest = more;
        now = now + Duration::from_micros(u64::from(op >> 2) * 997);
        match op & 3 {
            0 => {
                let marking = Marking {
                    priority: length & 7,
                    drops: (length & 8 != 0).then_some(1),
                    bitrate_kbps: u32::from(*length) * 100,
                    slack_ms: 0,
                };
                let message = Bytes::from(vec![0; 1 + 64 * usize::from(*length)]);
                sent += u64::from(session.send(now, u16::from(op >> 6), marking, message).is_ok());
            }
            1 => while session.poll_transmit(now, &mut out) {
                assert!(!out.is_empty() && out.len() <= usize::from(PAYLOAD));
            },
            _ if bytes.len() >= HEADER_BYTES => {
                // As the peer seals it: the header, the session, the number, a frame.
                let (header, frame) = bytes.split_at(HEADER_BYTES);
                let mut packet = header.to_vec();
                packet.extend_from_slice(&LOCAL.to_be_bytes());
                packet.extend_from_slice(frame.get(..4).unwrap_or(&[0; 4]));
                packet.extend_from_slice(frame.get(4..).unwrap_or_default());
                packet.extend_from_slice(NO_SEAL);
                let _ = session.handle(now, &mut packet);
            }
            _ => session.time_out(now),
        }
        if session.deadline().is_some_and(|at| at <= now) {
            session.time_out(now);
        }
    }
    let counts = session.counts(now);
    assert!(counts.acked_packets + counts.lost_packets <= counts.sent_packets);
    assert!(counts.dropped_here <= sent);
    let mut delivered = 0;
    while let Some(event) = session.poll_event() {
        delivered += u64::from(matches!(event, Event::Message(_)));
    }
    assert!(delivered <= counts.delivered);
});

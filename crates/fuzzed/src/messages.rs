//! A session of the media path (`docs/reference/wire/messages.md`).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::{Ecn, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_messages::wire::{CLEAR_BYTES, TAG_BYTES};
use airlane_messages::{Config, Event, Ids, Protection, ReceiveLimits, SendOptions, Session};
use airlane_octopus::{HEADER_BYTES, Marking};
use bytes::Bytes;

const PAYLOAD: u16 = 1_200;
/// The numbers by which the two ends know the session.
const LOCAL: u32 = 7;
const REMOTE: u32 = 8;
/// The tag of the null cipher.
const NO_SEAL: &[u8; TAG_BYTES] = b"airlane-no-seal!";

/// A peer that has the keys sends any frames to a session that sends messages of its own: what is
/// acknowledged, delivered and kept stays within what there is.
///
/// The input is steps: a byte of what happens and how much later, a byte of a length, and so many bytes.
pub fn messages(data: &[u8]) {
    let mut run = Run::new();
    let mut rest = data;
    while let [op, length, more @ ..] = rest {
        let (bytes, more) = more.split_at(usize::from(*length).min(more.len()));
        rest = more;
        run.step(*op, *length, bytes, |_| {});
    }
    let Run { mut session, now, sent, .. } = run;
    let counts = session.counts(now);
    assert!(counts.acked_packets + counts.lost_packets <= counts.sent_packets);
    assert!(counts.dropped_here <= sent);
    let mut delivered = 0;
    while let Some(event) = session.poll_event() {
        delivered += u64::from(matches!(event, Event::Message(_)));
    }
    assert!(delivered <= counts.delivered);
}

struct Run {
    session: Session,
    now: Time,
    /// Messages that were given to the session.
    sent: u64,
    out: Vec<u8>,
    /// Bytes that came from an address that proves nothing, and that went there.
    elsewhere: (usize, usize),
}

/// Address of the peer, and another one from which some of its packets come as well.
const HOME: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1);
const ELSEWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2);

impl Run {
    fn new() -> Self {
        let session = session(PAYLOAD, Ids { local: LOCAL, remote: REMOTE });
        Self { session, now: Time::ZERO, sent: 0, out: Vec::new(), elsewhere: (0, 0) }
    }

    /// Does one step; the session's packets go to `on_packet`.
    fn step(&mut self, op: u8, length: u8, bytes: &[u8], mut on_packet: impl FnMut(&[u8])) {
        let Self { session, now, sent, out, elsewhere: (came, went) } = self;
        *now += Duration::from_micros(u64::from(op >> 2) * 997);
        match op & 3 {
            0 => {
                let marking = Marking {
                    priority: length & 7,
                    drops: (length & 8 != 0).then_some(1),
                    bitrate_kbps: u32::from(length) * 100,
                    slack_ms: 0,
                };
                let message = Bytes::from(vec![0; 1 + 64 * usize::from(length)]);
                let is_taken = session.send(*now, u16::from(op >> 6), marking, message).is_ok();
                *sent += u64::from(is_taken);
            }
            1 => {
                while let Some(to) = session.poll_transmit(*now, out) {
                    assert!(!out.is_empty() && out.len() <= usize::from(PAYLOAD));
                    // It may prove itself: what it must know is in the packets.
                    if to == ELSEWHERE && session.remote() != ELSEWHERE {
                        *went += out.len();
                        assert!(went <= &mut (3 * *came), "{went} bytes for {came}");
                    }
                    on_packet(out);
                }
            }
            _ if bytes.len() >= HEADER_BYTES => {
                // As the peer seals it: the header, the session, the number, a frame.
                let (header, frame) = bytes.split_at(HEADER_BYTES);
                let mut packet = header.to_vec();
                packet.extend_from_slice(&LOCAL.to_be_bytes());
                packet.extend_from_slice(frame.get(..4).unwrap_or(&[0; 4]));
                packet.extend_from_slice(frame.get(4..).unwrap_or_default());
                packet.extend_from_slice(NO_SEAL);
                // A step of odd length stands for one that was forged.
                let from = if length & 1 == 0 { HOME } else { ELSEWHERE };
                if from == ELSEWHERE {
                    *came += packet.len();
                }
                let _ = session.handle(*now, from, Ecn::NotEct, &mut packet);
            }
            _ => session.time_out(*now),
        }
        if session.deadline().is_some_and(|at| at <= *now) {
            session.time_out(*now);
        }
    }
}

fn session(payload_bytes: u16, ids: Ids) -> Session {
    let controller = ControllerConfig::new(Algorithm::Bbr);
    let config = Config {
        payload_bytes,
        max_payload_bytes: None,
        controller,
        seed: Seed(1),
        random_secret: [7; 32],
        remote: HOME,
        follows: true,
        keep_alive_interval: Some(Duration::from_millis(250)),
        send: SendOptions::default(),
        receive: ReceiveLimits::default(),
        protection: Protection::Null,
        ids,
        key_packets: None,
    };
    Session::new(Time::ZERO, config)
}

/// Two sessions that talk: the input is what happens at one of them.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // A step holds up to 255 bytes of a packet.
    let mut peer = session(200, Ids { local: REMOTE, remote: LOCAL });
    let (mut run, mut seed) = (Run::new(), Vec::new());
    let mut step = |run: &mut Run, op: u8, bytes: &[u8]| {
        let mut packets = Vec::new();
        let length = bytes.len() as u8;
        run.step(op, length, bytes, |packet| packets.push(packet.to_vec()));
        seed.extend([op, length]);
        seed.extend_from_slice(bytes);
        packets
    };
    const MS: u8 = 4;
    for n in 0..4 {
        // Two packets; and the peer's answer to them, with three packets of its own.
        step(&mut run, 3 * MS, &[0; 20]);
        for mut packet in step(&mut run, (5 * MS) | 1, &[]) {
            peer.handle(run.now, HOME, Ecn::NotEct, &mut packet)
                .expect("the peer takes what the session sends");
        }
        let marking = Marking { priority: 1 + n % 3, drops: Some(2), ..Marking::default() };
        peer.send(run.now, 1, marking, Bytes::from(vec![n; 400])).expect("the peer has room");
        let mut packet = Vec::new();
        while peer.poll_transmit(run.now, &mut packet).is_some() {
            let frame = &packet[CLEAR_BYTES - 4..packet.len() - TAG_BYTES];
            step(&mut run, 2, &[&packet[..HEADER_BYTES], frame].concat());
        }
    }
    let counts = run.session.counts(run.now);
    assert!(counts.acked_packets > 0 && counts.delivered > 0 && counts.refused == 0, "{counts:?}");
    vec![seed]
}

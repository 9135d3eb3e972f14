//! Two ends of a call, connected before traffic starts.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use str0m::bwe::Bitrate;
use str0m::net::Protocol;
use str0m::rtp::{Extension, ExtensionMap};
use str0m::{Candidate, IceCreds, Input, Output, Rtc, RtcConfig};

use crate::clock::Clock;
use crate::crypto::{self, Protection};
use crate::engine::{Engine, MEDIA, REPEATS, mid};
use crate::stats::{ReceiverStats, SenderStats};
use crate::{ReceiverHalf, SenderHalf};

/// Settings with which a call is set up.
#[derive(Clone, Copy, Debug)]
pub struct CallConfig {
    /// The estimate to begin with. libwebrtc's default is 300 kbit/s.
    pub start: Rate,
    /// The most that the source can make use of, which str0m probes for.
    pub desired: Rate,
    /// Estimate that the source is told.
    pub target: Target,
    /// Packets of a frame are handed to str0m's pacer at so many times the target; `None`: all at
    /// once. libwebrtc's pacer sends at 2.5 times its own (`kDefaultPaceMultiplier`).
    pub pace: Option<f64>,
    /// Protection of packets.
    pub protection: Protection,
    /// Frames that the receiver hands on.
    pub delivery: Delivery,
    /// True if the sender counts what came to the receiver, which costs a copy of each packet.
    pub counts_delivered: bool,
}

/// Frames that a receiver hands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Those that a decoder can take, in its order; a key frame is asked for where only that helps.
    #[default]
    Decodable,
    /// Each once it is whole: they are messages that do not build on each other, and no key frame is asked for.
    Whole,
}

impl CallConfig {
    /// As libwebrtc begins, for a source of at most `desired`.
    pub fn new(desired: Rate) -> Self {
        Self {
            start: Rate::from_bps(300_000),
            desired,
            target: Target::default(),
            pace: Some(1.5),
            protection: Protection::default(),
            delivery: Delivery::default(),
            counts_delivered: false,
        }
    }
}

/// One of str0m's estimates, which the source is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The current one, as libwebrtc tells its encoder.
    #[default]
    Current,
    /// The mean of the last 3 s, which is what str0m's event says.
    Smoothed,
}

/// Reason for which a call could not be set up, or ended.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Socket(#[from] std::io::Error),
    /// str0m failed.
    #[error("str0m: {0}")]
    Engine(#[from] str0m::RtcError),
    /// An address that no peer can be reached at.
    #[error("no call between {0} and {1}")]
    Addresses(SocketAddr, SocketAddr),
}

/// Time before the start of traffic at which the two ends begin to find each other.
const SET_UP: Duration = Duration::from_secs(1);

/// Time that a packet takes between them meanwhile.
const IDEAL_DELAY: Duration = Duration::from_millis(1);

/// Interval at which the sender's current estimate is read: as often as str0m updates it without feedback. More
/// often would raise it (`feed`).
const READ_INTERVAL: Duration = Duration::from_millis(25);

/// Makes both ends of a call that sends video from `sender` to `receiver`, addresses of their
/// sockets, from `now` on.
///
/// Both are made in one process and find each other (ICE) over an ideal link in memory, in the
/// second before `now`. The handshake of DTLS is left out: `seed` holds the keys.
///
/// # Errors
/// If the addresses are not such that a packet could go from one to the other.
pub fn pair(
    config: &CallConfig,
    seed: Seed,
    now: Time,
    sender: SocketAddr,
    receiver: SocketAddr,
) -> Result<(SenderHalf, ReceiverHalf), CallError> {
    let clock = Clock::new();
    let builder = || builder(config.protection, seed);
    let start = Bitrate::bps(config.start.bps());
    let sending = builder()
        .enable_bwe(Some(start))
        .set_stats_interval(Some(READ_INTERVAL))
        .enable_raw_packets(config.counts_delivered);
    let mut from = end(sending, clock, now, seed.split("sender"));
    let mut to = end(builder(), clock, now, seed.split("receiver"));
    connect(&mut from, &mut to, now, (sender, receiver))?;
    // Only now: with something to send on, the sender would begin to probe.
    declare(&mut from, &mut to);
    let desired = Bitrate::bps(config.desired.bps());
    from.call(|rtc| rtc.bwe().set_bitrate(Bitrate::ZERO, desired));
    let stats = SenderStats::new(now, config.start);
    let sender = SenderHalf { engine: from, config: *config, stats };
    let receiver =
        ReceiverHalf { engine: to, delivery: config.delivery, stats: ReceiverStats::default() };
    Ok((sender, receiver))
}

/// Settings that both ends have in common.
pub(crate) fn builder(protection: Protection, seed: Seed) -> RtcConfig {
    let mut extensions = ExtensionMap::empty();
    extensions.set(2, Extension::AbsoluteSendTime);
    extensions.set(3, Extension::TransportSequenceNumber);
    extensions.set(4, Extension::RtpMid);
    Rtc::builder()
        .set_rtp_mode(true)
        .clear_codecs()
        .enable_vp8(true)
        .set_extension_map(extensions)
        .set_crypto_provider(protection.provider())
        .set_dtls_cert(crypto::keys(seed))
}

/// An end that is set up in the second before `now`.
pub(crate) fn end(config: RtcConfig, clock: Clock, now: Time, seed: Seed) -> Engine {
    let begin = clock.instant_before(now, SET_UP);
    let mut engine = Engine::new(seeded(seed, || config.build(begin)), clock, seed.split("calls"));
    let text = |name: &str, length: usize| {
        let bytes = seed.split(name).bytes();
        bytes.iter().map(|b| char::from(b'a' + b % 26)).take(length).collect()
    };
    let credentials = IceCreds { ufrag: text("name", 16), pass: text("word", 22) };
    engine.call(|rtc| rtc.direct_api().set_local_ice_credentials(credentials));
    engine
}

/// Makes something with str0m's generator seeded.
fn seeded<T>(seed: Seed, make: impl FnOnce() -> T) -> T {
    let others = fastrand::get_seed();
    fastrand::seed(seed.0);
    let made = make();
    fastrand::seed(others);
    made
}

/// Declares the stream at both ends.
pub(crate) fn declare(from: &mut Engine, to: &mut Engine) {
    from.declare(|api| {
        api.declare_stream_tx(MEDIA.into(), Some(REPEATS.into()), mid(), None);
    });
    to.declare(|api| {
        api.expect_stream_rx(MEDIA.into(), Some(REPEATS.into()), mid(), None);
        api.enable_twcc_feedback();
    });
}

/// Lets two ends find each other over an ideal link, so that they are connected at `now`.
pub(crate) fn connect(
    from: &mut Engine,
    to: &mut Engine,
    now: Time,
    (sender, receiver): (SocketAddr, SocketAddr),
) -> Result<(), CallError> {
    let of = |address| Candidate::host(address, Protocol::Udp);
    let (Ok(here), Ok(there)) = (of(sender), of(receiver)) else {
        return Err(CallError::Addresses(sender, receiver));
    };
    let credentials = |engine: &mut Engine| engine.call(|r| r.direct_api().local_ice_credentials());
    let (of_from, of_to) = (credentials(from), credentials(to));
    for (engine, own, other, word, asks) in
        [(&mut *from, &here, &there, of_to, true), (&mut *to, &there, &here, of_from, false)]
    {
        engine.call(|rtc| {
            rtc.add_local_candidate(own.clone());
            rtc.add_remote_candidate(other.clone());
            let mut api = rtc.direct_api();
            api.set_ice_controlling(asks);
            api.set_remote_ice_credentials(word);
            api.start_dtls(asks)
        })?;
    }
    let mut left = SET_UP;
    let mut on_the_way: Vec<(bool, Vec<u8>)> = Vec::new();
    while !left.is_zero() {
        left = left.saturating_sub(IDEAL_DELAY);
        let at = from.clock.instant_before(now, left);
        let arrived = std::mem::take(&mut on_the_way);
        for (forth, engine) in [(true, &mut *from), (false, &mut *to)] {
            let (own, other) = if forth { (sender, receiver) } else { (receiver, sender) };
            engine.call(|rtc| rtc.handle_input(Input::Timeout(at)))?;
            drain(engine, forth, &mut on_the_way)?;
            for (_, payload) in arrived.iter().filter(|(from_sender, _)| *from_sender != forth) {
                engine.take_in_at(at, other, own, payload);
                drain(engine, forth, &mut on_the_way)?;
            }
        }
    }
    let connected = from.call(|rtc| rtc.is_connected()) && to.call(|rtc| rtc.is_connected());
    if connected { Ok(()) } else { Err(CallError::Addresses(sender, receiver)) }
}

/// Takes what an end sends; events of the set-up are of no interest.
fn drain(
    engine: &mut Engine,
    forth: bool,
    out: &mut Vec<(bool, Vec<u8>)>,
) -> Result<(), CallError> {
    loop {
        match engine.poll()? {
            Output::Timeout(_) => return Ok(()),
            Output::Transmit(t) => out.push((forth, t.contents.into())),
            Output::Event(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use str0m::rtp::RtpWrite;

    use super::*;
    use crate::engine::ssrc;
    use crate::packet::VP8;

    fn addresses() -> (SocketAddr, SocketAddr) {
        let at = |n| SocketAddr::from((Ipv4Addr::new(10, 0, 0, n), 5_000));
        (at(1), at(2))
    }

    #[test]
    fn both_ends_are_connected_and_nothing_is_sent_before_traffic_starts() {
        let (a, b) = addresses();
        let config = CallConfig::new(Rate::from_mbps(5.0));
        let (mut from, mut to) = pair(&config, Seed(1), Time::ZERO, a, b).unwrap();
        for engine in [&mut from.engine, &mut to.engine] {
            assert!(engine.call(|rtc| rtc.is_connected()));
        }
        assert!(
            pair(&config, Seed(1), Time::ZERO, a, SocketAddr::from(([0, 0, 0, 0], 1))).is_err()
        );
    }

    #[test]
    fn damaged_and_invented_datagrams_do_no_harm() {
        for protection in [Protection::Null, Protection::Sealed] {
            let (a, b) = addresses();
            let mut config = CallConfig::new(Rate::from_mbps(5.0));
            config.protection = protection;
            let (from, to) = pair(&config, Seed(1), Time::ZERO, a, b).unwrap();
            let (mut from, mut to) = (from.engine, to.engine);
            let mut dice = (0_u64..).map(|i| Seed(9).index(i).0);
            let mut roll = move || dice.next().unwrap_or(0);
            for ms in 0..3_000_u64 {
                let now = Time::from_millis(ms);
                let mut sent = Vec::new();
                for (forth, engine) in [(true, &mut from), (false, &mut to)] {
                    engine.time_out(now).unwrap();
                    let instant = engine.clock.instant(now);
                    let packet =
                        RtpWrite::new(VP8.into(), (ms + 1).into(), 0, instant, &[1; 900][..])
                            .nackable(true);
                    engine.call(|rtc| {
                        if let Some(stream) = rtc.direct_api().stream_tx(&ssrc()) {
                            stream.write_rtp(packet);
                        }
                    });
                    drain(engine, forth, &mut sent).unwrap();
                }
                for (forth, mut payload) in sent {
                    let (engine, own, other) =
                        if forth { (&mut to, b, a) } else { (&mut from, a, b) };
                    engine.take_in(now, other, own, &payload);
                    drain(engine, forth, &mut Vec::new()).unwrap();
                    let i = roll() as usize % payload.len();
                    payload[i] ^= roll() as u8;
                    payload.truncate(1 + roll() as usize % (2 * payload.len()));
                    engine.take_in(now, other, own, &payload);
                    drain(engine, forth, &mut Vec::new()).unwrap();
                }
            }
        }
    }
}

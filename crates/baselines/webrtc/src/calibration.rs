//! Which date str0m takes an instant for.
//!
//! It pairs the two clocks of the machine at its first use and tells nobody; but a sender report
//! holds the date of the instant at which it was written.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime};

use airlane_base::{Seed, Time};
use str0m::rtp::rtcp::Rtcp;
use str0m::rtp::{RawPacket, RtpWrite};
use str0m::{Event, Output};

use crate::clock::Clock;
use crate::crypto::Protection;
use crate::engine::{Engine, ssrc};
use crate::packet::VP8;
use crate::pair::{builder, connect, declare, end};

/// Longest duration of a call that is made to see a report, milliseconds. Video has one a second.
const LIMIT_MS: u64 = 10_000;

/// An instant shortly after `origin`, and its date.
///
/// # Panics
/// If str0m writes no reports any more; then nothing could be repeated.
pub(crate) fn measure(origin: Instant) -> (Instant, SystemTime) {
    let clock = Clock::at(origin);
    let begin = Time::from_millis(2_000);
    let build = |name: &str| {
        let config = builder(Protection::Null, Seed(0)).enable_raw_packets(true);
        end(config, clock, begin, Seed(0).split(name))
    };
    let (mut from, mut to) = (build("sender"), build("receiver"));
    let address = |port| SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1), port));
    let connected = connect(&mut from, &mut to, begin, (address(1), address(2)));
    assert!(connected.is_ok(), "two ends in memory found each other: {connected:?}");
    declare(&mut from, &mut to);
    let packet = RtpWrite::new(VP8.into(), 1.into(), 0, clock.instant(begin), &[0_u8; 100][..]);
    from.call(|rtc| {
        if let Some(stream) = rtc.direct_api().stream_tx(&ssrc()) {
            stream.write_rtp(packet);
        }
    });
    for ms in 0..LIMIT_MS {
        let now = begin + Duration::from_millis(ms);
        if let Some(date) = reported(&mut from, now) {
            return (clock.instant(now), date);
        }
    }
    panic!("str0m wrote no sender report in {LIMIT_MS} ms");
}

/// The date in a report that is written at `now`.
fn reported(from: &mut Engine, now: Time) -> Option<SystemTime> {
    let mut date = None;
    from.time_out(now).ok()?;
    loop {
        match from.poll().ok()? {
            Output::Timeout(_) => return date,
            Output::Transmit(_) => {}
            Output::Event(Event::RawPacket(packet)) => {
                if let RawPacket::RtcpTx(Rtcp::SenderReport(report)) = *packet {
                    date = Some(report.sender_info.ntp_time);
                }
            }
            Output::Event(_) => {}
        }
    }
}

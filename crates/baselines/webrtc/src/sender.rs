//! The sending role.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_runtime::{RuntimeHandle, UdpSocket};
use bytes::Bytes;
use str0m::Event;
use str0m::bwe::{Bitrate, BweKind};
use str0m::rtp::rtcp::Rtcp;
use str0m::rtp::{RawPacket, RtpWrite};

use crate::CallError;
use crate::driver::Driver;
use crate::engine::{Engine, ssrc};
use crate::feed::Feed;
use crate::packet::{TAG_BYTES, VP8, payloads};
use crate::pair::{CallConfig, Target};
use crate::path::Path;
use crate::stats::SenderStats;
use crate::unconfirmed::Unconfirmed;

/// A key frame is not made within so long of the last one, whoever asks for it (libwebrtc,
/// `kMinKeyFrameRequestIntervalMs`).
const KEY_INTERVAL: Duration = Duration::from_millis(300);

/// Time for which the sender stays after the last frame: what was sent is kept for so long.
const LINGER: Duration = Duration::from_secs(3);

/// The end of a call that sends.
#[derive(Debug)]
pub struct SenderHalf {
    pub(crate) engine: Engine,
    pub(crate) config: CallConfig,
    pub(crate) stats: SenderStats,
}

impl SenderHalf {
    /// Record of what it knows and has done, from now on.
    pub fn stats(&self) -> SenderStats {
        self.stats.clone()
    }
}

/// Request for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The time.
    pub now: Time,
    /// The bits of frames per second that congestion control allows. Zero while nothing comes back
    /// from the receiver: the frame is dropped whatever it is.
    pub target: Rate,
    /// The frame has to stand alone: it is the first one, or the receiver asked for one.
    pub key: bool,
}

/// A frame as an encoder gives it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Bytes that the receiver gets.
    pub data: Bytes,
    /// True if it stands alone.
    pub key: bool,
    /// Time of capture.
    pub captured: Time,
}

/// Source of frames: a camera with its encoder, or what stands for them.
pub trait FrameSource: Send {
    /// Time at which the next frame is there; `None` if there will be none. After a frame was asked for it
    /// is later than before.
    fn next_at(&self) -> Option<Time>;
    /// The frame that is there now; `None` if the encoder drops it.
    fn frame(&mut self, ask: &Ask) -> Option<Frame>;
    /// Ready once [`Self::next_at`] is earlier than it said; asked for while no frame is due.
    fn poll_earlier(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
    /// Limit of the rate that is probed for, if it is below [`CallConfig::desired`].
    fn max_rate(&self) -> Option<Rate> {
        None
    }
}

/// Sends what `source` gives, from a socket bound to the address that the pair was made for. Ends
/// 3 s after the last frame, for which time it still repeats what is asked for.
///
/// # Errors
/// If the socket or str0m fails.
pub async fn send(
    half: SenderHalf,
    runtime: &RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    source: impl FrameSource,
) -> Result<(), CallError> {
    let SenderHalf { engine, config, stats } = half;
    let driver = Driver::new(engine, runtime, socket);
    let sending = Sending {
        driver,
        stats,
        config,
        target: config.start,
        sequence: 0,
        number: 0,
        key_wanted: true,
        last_key: None,
        feed: Feed::new(),
        path: Path::new(runtime.now()),
        desired: config.desired,
        unsent: VecDeque::new(),
        unconfirmed: Unconfirmed::default(),
        start: runtime.now(),
    };
    sending.run(source).await
}

struct Sending {
    driver: Driver,
    stats: SenderStats,
    config: CallConfig,
    target: Rate,
    /// The last packet's number.
    sequence: u64,
    /// The next frame's number.
    number: u32,
    key_wanted: bool,
    last_key: Option<Time>,
    feed: Feed<RtpWrite>,
    path: Path,
    /// Rate that is probed for.
    desired: Rate,
    /// Payload of each packet that has not left, in their order.
    unsent: VecDeque<u64>,
    unconfirmed: Unconfirmed,
    /// Time of the start, which is as good as any other for times that feedback counts from.
    start: Time,
}

impl Sending {
    /// Hands str0m the packets that are due. When the next one is.
    fn feed(&mut self) -> Option<Time> {
        let now = self.driver.now();
        let pace = self.config.pace.map(|factor| self.target.scale(factor));
        while let Some(packet) = self.feed.pop(now, pace) {
            // One change of several packets, as str0m's own packetiser makes it.
            self.driver.engine().call(|rtc| {
                if let Some(stream) = rtc.direct_api().stream_tx(&ssrc()) {
                    stream.write_rtp(packet);
                }
            });
        }
        self.feed.due()
    }

    async fn run(mut self, mut source: impl FrameSource) -> Result<(), CallError> {
        // str0m has last heard the time when the pair was made.
        let now = self.driver.now();
        self.driver.engine().time_out(now)?;
        let mut end = None;
        loop {
            self.limit(source.max_rate());
            let due = self.feed();
            let next = self.settle().await?.min(due.unwrap_or(Time::FAR_FUTURE));
            let now = self.driver.now();
            let until = match source.next_at() {
                Some(at) if at <= now => {
                    self.encode(now, &mut source);
                    continue;
                }
                Some(at) => at,
                None => *end.get_or_insert(now + LINGER),
            };
            if end.is_some_and(|end| end <= now) {
                return Ok(());
            }
            let wake = |cx: &mut Context<'_>| source.poll_earlier(cx);
            if let Some(bytes) = self.driver.wait(next.min(until), wake).await? {
                self.stats.change(|s| s.received.add(bytes));
            }
        }
    }

    /// Probes for no more than `max_rate` from now on.
    fn limit(&mut self, max_rate: Option<Rate>) {
        let desired = max_rate.map_or(self.config.desired, |max| max.min(self.config.desired));
        if desired != self.desired {
            self.desired = desired;
            let desired = Bitrate::bps(desired.bps());
            self.driver.engine().call(|rtc| rtc.bwe().set_bitrate(Bitrate::ZERO, desired));
        }
    }

    async fn settle(&mut self) -> Result<Time, CallError> {
        let Self { stats, unsent, driver, .. } = self;
        let sent = |datagram: &[u8]| {
            stats.change(|s| {
                let before = s.sent.media.packets;
                s.sent.add(datagram);
                if s.sent.media.packets > before {
                    s.pending_bytes -= unsent.pop_front().unwrap_or(0);
                }
            });
        };
        let next = driver.settle(sent).await?;
        while let Some(event) = self.driver.next_event() {
            self.on_event(&event);
        }
        Ok(next)
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })
                if self.config.target == Target::Smoothed =>
            {
                self.aim(estimate.as_f64());
            }
            Event::PeerStats(peer) => {
                self.path.update(self.driver.now(), peer);
                self.stats.change(|s| {
                    s.rtt = peer.rtt.or(s.rtt);
                    s.loss = peer.egress_loss_fraction.or(s.loss);
                });
                if let (Target::Current, Some(estimate)) = (self.config.target, peer.bwe_tx) {
                    self.aim(estimate.as_f64());
                }
            }
            Event::RawPacket(packet) => self.on_packet(packet),
            Event::KeyframeRequest(_) => {
                self.key_wanted = true;
                self.stats.change(|s| s.key_requests += 1);
            }
            _ => {}
        }
    }

    /// Follows packets until the receiver's feedback says that they came.
    fn on_packet(&mut self, packet: &RawPacket) {
        match packet {
            RawPacket::RtpTx(header, bytes) => {
                if let Some(number) = header.ext_vals.transport_cc {
                    self.unconfirmed.push(number, (bytes.len() + TAG_BYTES) as u64);
                }
            }
            RawPacket::RtcpRx(Rtcp::Twcc(feedback)) => {
                let start = self.driver.engine().clock.instant(self.start);
                let newest = self.unconfirmed.newest();
                let came = feedback.clone().into_iter(start, newest.into());
                let came = came.filter(|(_, _, at)| at.is_some());
                let bytes = came.filter_map(|(number, ..)| self.unconfirmed.confirm(*number));
                let bytes: Vec<_> = bytes.collect();
                self.stats.change(|s| bytes.into_iter().for_each(|bytes| s.delivered.add(bytes)));
            }
            _ => {}
        }
    }

    fn aim(&mut self, bps: f64) {
        let target = Rate::from_bps_f64(bps);
        if target != self.target {
            self.target = target;
            let now = self.driver.now();
            self.stats.change(|s| s.targets.push((now, target)));
        }
    }

    fn encode(&mut self, now: Time, source: &mut impl FrameSource) {
        let recently = self.last_key.is_some_and(|last| now < last + KEY_INTERVAL);
        let broken = self.path.broken(now);
        let target = if broken { Rate::ZERO } else { self.target };
        let ask = Ask { now, target, key: self.key_wanted && !recently };
        let Some(frame) = source.frame(&ask).filter(|_| !broken) else { return };
        if frame.key {
            self.key_wanted = false;
            self.last_key = Some(now);
        }
        self.stats.change(|s| {
            s.frames += 1;
            s.key_frames += u64::from(frame.key);
        });
        let mut pieces = payloads(self.number, frame.key, frame.captured, &frame.data).peekable();
        self.number = self.number.wrapping_add(1);
        // The clock of video has 90 000 ticks a second (RFC 7741, 4.1).
        let ticks = u128::from(frame.captured.as_nanos()) * 9 / 100_000;
        let captured = self.driver.engine().clock.instant(frame.captured);
        while let Some(payload) = pieces.next() {
            self.sequence += 1;
            let bytes = payload.len() as u64;
            self.unsent.push_back(bytes);
            self.stats.change(|s| s.pending_bytes += bytes);
            let packet =
                RtpWrite::new(VP8.into(), self.sequence.into(), ticks as u32, captured, payload)
                    .marker(pieces.peek().is_none())
                    .nackable(true);
            self.feed.push(bytes, packet);
        }
    }
}

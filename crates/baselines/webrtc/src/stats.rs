//! What both ends count.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use parking_lot::Mutex;

use crate::engine::{MEDIA, REPEATS};

/// UDP payload bytes and datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Datagrams.
    pub packets: u64,
    /// Their UDP payload, bytes.
    pub bytes: u64,
}

impl Count {
    /// Adds a datagram of so many bytes.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// Packets and bytes that an end sent, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Video, sent for the first time.
    pub media: Count,
    /// Video that was sent again, because it was asked for or as padding: str0m probes and pads
    /// with repetitions.
    pub repeats: Count,
    /// Reports, feedback and requests (RTCP).
    pub reports: Count,
    /// Packets that keep the path open (STUN), and probes without content.
    pub other: Count,
}

impl SentCounts {
    /// Counts a datagram by what is in clear in it.
    pub(crate) fn add(&mut self, datagram: &[u8]) {
        let kind = match datagram {
            // RFC 5761, 4: RTCP's types are those of RTP with the marker set, from 64 on.
            [128..192, kind, ..] if (64..96).contains(&(kind & 0x7f)) => &mut self.reports,
            [128..192, _, _, _, _, _, _, _, a, b, c, d, ..] => {
                match u32::from_be_bytes([*a, *b, *c, *d]) {
                    MEDIA => &mut self.media,
                    REPEATS => &mut self.repeats,
                    _ => &mut self.other,
                }
            }
            _ => &mut self.other,
        };
        kind.add(datagram.len() as u64);
    }

    /// All of it.
    pub fn total(&self) -> Count {
        let all = [self.media, self.repeats, self.reports, self.other];
        Count {
            packets: all.iter().map(|c| c.packets).sum(),
            bytes: all.iter().map(|c| c.bytes).sum(),
        }
    }
}

/// Record of what a sender knows and has done.
#[derive(Clone, Debug, Default)]
pub struct SenderReport {
    /// The target, from when on it was which.
    pub targets: Vec<(Time, Rate)>,
    /// The round-trip time, from the feedback on packets, once there is one.
    pub rtt: Option<Duration>,
    /// The share of packets lost in the last second, from the same feedback.
    pub loss: Option<f32>,
    /// Packets and bytes that it sent.
    pub sent: SentCounts,
    /// Datagrams that came to it.
    pub received: Count,
    /// RTP packets that came to the receiver, as its feedback says; counted with [`crate::CallConfig::counts_delivered`].
    pub delivered: Count,
    /// Payload of RTP packets that have not left for the first time.
    pub pending_bytes: u64,
    /// Frames that the source gave.
    pub frames: u64,
    /// Key frames among them.
    pub key_frames: u64,
    /// Times that the receiver asked for a key frame.
    pub key_requests: u64,
}

/// A sender's report while it sends.
#[derive(Clone, Debug, Default)]
pub struct SenderStats(Arc<Mutex<SenderReport>>);

impl SenderStats {
    pub(crate) fn new(now: Time, start: Rate) -> Self {
        let stats = Self::default();
        stats.0.lock().targets.push((now, start));
        stats
    }

    /// The report as of now.
    pub fn read(&self) -> SenderReport {
        self.0.lock().clone()
    }

    /// A part of the report as of now, without a copy of the rest.
    pub fn with<T>(&self, read: impl FnOnce(&SenderReport) -> T) -> T {
        read(&self.0.lock())
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut SenderReport)) {
        change(&mut self.0.lock());
    }
}

/// Record of what a receiver has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverReport {
    /// Packets and bytes that it sent.
    pub sent: SentCounts,
    /// Datagrams that came to it.
    pub received: Count,
    /// Frames delivered.
    pub frames: u64,
    /// Times that it asked for a key frame.
    pub key_requests: u64,
}

/// A receiver's report while it receives.
#[derive(Clone, Debug, Default)]
pub struct ReceiverStats(Arc<Mutex<ReceiverReport>>);

impl ReceiverStats {
    /// The report as of now.
    pub fn read(&self) -> ReceiverReport {
        *self.0.lock()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ReceiverReport)) {
        change(&mut self.0.lock());
    }
}

//! Publishers of each codec, and a track with one receiver.

pub(crate) mod av1;
pub(crate) mod vp8;
pub(crate) mod vp9;

use std::time::Duration;

use airlane_base::Time;
use airlane_sfu::{Codec, Forwarded, Forwarder, ForwarderConfig, RtpPacket, Source, SourceConfig};

/// First sequence number that a receiver gets.
pub(crate) const FIRST_SEQUENCE: u64 = 40_000;

/// Time between two pictures.
pub(crate) const PICTURE_INTERVAL: Duration = Duration::from_millis(33);

/// Temporal layers of the pictures after a key frame, with three layers.
pub(crate) const TEMPORAL_PATTERN: [u8; 4] = [0, 2, 1, 2];

/// A packet that owns its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) encoding: u8,
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) marker: bool,
    pub(crate) payload: Vec<u8>,
    pub(crate) dependency_descriptor: Option<Vec<u8>>,
    pub(crate) arrived: Time,
    pub(crate) captured: Option<Time>,
    pub(crate) is_repeated: bool,
}

impl Packet {
    pub(crate) fn rtp(&self) -> RtpPacket<'_> {
        RtpPacket {
            encoding: self.encoding,
            sequence: self.sequence,
            timestamp: self.timestamp,
            marker: self.marker,
            payload: &self.payload,
            dependency_descriptor: self.dependency_descriptor.as_deref(),
            arrived: self.arrived,
            captured: self.captured,
            is_repeated: self.is_repeated,
        }
    }
}

/// Numbers of an encoding's RTP stream.
#[derive(Clone, Debug)]
pub(crate) struct Rtp {
    pub(crate) encoding: u8,
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) now: Time,
}

impl Rtp {
    pub(crate) fn new(encoding: u8, sequence: u64, timestamp: u32) -> Self {
        Self { encoding, sequence, timestamp, now: Time::from_millis(1000) }
    }

    /// The next packet.
    pub(crate) fn packet(&mut self, marker: bool, payload: Vec<u8>) -> Packet {
        self.sequence += 1;
        Packet {
            encoding: self.encoding,
            sequence: self.sequence,
            timestamp: self.timestamp,
            marker,
            payload,
            dependency_descriptor: None,
            arrived: self.now,
            captured: None,
            is_repeated: false,
        }
    }

    /// Goes on to the next picture.
    pub(crate) fn next_picture(&mut self) {
        self.now += PICTURE_INTERVAL;
        self.timestamp = self.timestamp.wrapping_add(2970);
    }
}

/// A published track and one receiver of it.
pub(crate) struct Track {
    pub(crate) source: Source,
    pub(crate) receiver: Forwarder,
}

impl Track {
    pub(crate) fn new(codec: Codec, encodings: u8) -> Self {
        let first_sequence = FIRST_SEQUENCE;
        Self {
            source: Source::new(SourceConfig { codec, encodings }),
            receiver: Forwarder::new(ForwarderConfig { codec, encodings, first_sequence }),
        }
    }

    /// The packet as the receiver gets it.
    pub(crate) fn pass<'a>(&mut self, packet: &'a Packet) -> Option<Forwarded<'a>> {
        let rtp = packet.rtp();
        let info = self.source.observe(&rtp).expect("a packet that can be read");
        self.receiver.forward(&rtp, &info)
    }

    /// Packets of these that the receiver gets, as it gets them.
    pub(crate) fn pass_all(&mut self, packets: &[Packet]) -> Vec<Packet> {
        let passed = |packet| self.pass(packet).map(|out| received(packet, &out));
        packets.iter().filter_map(passed).collect()
    }
}

/// A packet as it was received.
pub(crate) fn received(packet: &Packet, out: &Forwarded<'_>) -> Packet {
    Packet {
        sequence: out.sequence,
        timestamp: out.timestamp,
        marker: out.marker,
        payload: out.payload.to_vec(),
        dependency_descriptor: out.dependency_descriptor.as_ref().map(|bytes| bytes.to_vec()),
        ..packet.clone()
    }
}

/// Panics unless sequence numbers go up by one, and each picture has a marker on its last packet and on no other.
pub(crate) fn assert_whole_stream(packets: &[Packet]) {
    for pair in packets.windows(2) {
        assert_eq!(pair[1].sequence, pair[0].sequence + 1, "a gap or a step back: {pair:?}");
        let ends = pair[1].timestamp != pair[0].timestamp;
        assert_eq!(pair[0].marker, ends, "a marker at the wrong place: {pair:?}");
    }
}

//! Client of a call without a browser: it plays files, shows nothing, and counts what it receives.

mod clip;
mod core;
mod driver;
mod feed;
mod frames;
mod joining;
mod offer;
mod packetizer;
mod party;
mod reception;
mod sending;
mod signalling;
mod sound;
mod stream_socket;

use std::sync::Arc;

use serde::Serialize;

pub use self::clip::{Clip, ClipError};
pub use self::driver::CallClient;
pub use self::joining::{CallTarget, join};
pub use self::offer::ClientOffer;
pub use self::party::Party;
pub use self::reception::ReceivedSummary;
pub use self::signalling::{CallUrl, InvalidCallUrl};
pub use self::sound::{Sound, SoundError};
pub use self::stream_socket::StreamSocket;

/// Queue in which frames of a client's video wait that its uplink does not carry yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendQueue {
    /// The pacer of WebRTC, which drops nothing.
    #[default]
    Pacer,
    /// One in front of the pacer, which drops what newer frames make worthless, by Octopus's rules, and what waited
    /// for 500 ms.
    Octopus,
}

/// Configuration of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Name as others see it.
    pub name: String,
    /// Encodings of its video, the lowest first, all of one codec; empty: it sends none. Several are sent as simulcast.
    pub video: Vec<Arc<Clip>>,
    /// Its audio; `None`: it sends none.
    pub audio: Option<Arc<Sound>>,
    /// Others that it can receive.
    pub max_people: usize,
    /// Queue of its video.
    pub queue: SendQueue,
    /// Share of the video at which it begins, 0 to 1: clients that begin at one place send their key frames at one time.
    pub offset: f64,
}

/// Summary of a client's call. Rates are in bit/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClientSummary {
    /// Name of the client.
    pub name: String,
    /// Time from the offer to the first packet that could be sent, s; `None`: it never came to that.
    pub connected_after_s: Option<f64>,
    /// Length of the call, s, from then on.
    pub length_s: f64,
    /// Rate that it sent, with the headers of IP and of UDP or TCP.
    pub sent_bps: f64,
    /// Rate that it received, with those headers.
    pub received_bps: f64,
    /// Frames of video that it sent, of all encodings.
    pub sent_frames: u64,
    /// Frames of video that were dropped before they were sent.
    pub dropped_frames: u64,
    /// Packets of video that were marked as part of a PDU Set, of those that it received.
    pub marked_packets: u64,
    /// Notices of a ceiling that it was given, and the last ceiling.
    pub notices: u64,
    /// The last ceiling of what it may send; `None`: none.
    pub ceiling_bps: Option<u64>,
    /// The last estimate of its controller.
    pub estimate_bps: Option<f64>,
    /// Others, in the order of their names.
    pub received: Vec<ReceivedSummary>,
    /// Reason for which it ended before its time; `None`: it did not.
    pub failure: Option<String>,
}

impl ClientSummary {
    /// The summary in a line for people.
    pub fn line(&self) -> String {
        let Self { name, length_s, .. } = self;
        let reason =
            self.failure.as_ref().map(|failure| format!(", {failure}")).unwrap_or_default();
        if self.connected_after_s.is_none() {
            return format!("{name}: not connected{reason}");
        }
        let mbps = |bps: f64| format!("{:.2} Mbit/s", bps / 1e6);
        let of = |person: &ReceivedSummary| {
            let ReceivedSummary { name, frame_rate, bitrate_bps, freezes, .. } = person;
            let freezes = match freezes {
                0 => String::new(),
                1 => ", 1 freeze".to_owned(),
                several => format!(", {several} freezes"),
            };
            format!("; {name}: {frame_rate:.1} fps, {}{freezes}", mbps(*bitrate_bps))
        };
        let received: String = self.received.iter().map(of).collect();
        let (sent, came) = (mbps(self.sent_bps), mbps(self.received_bps));
        format!("{name}: {length_s:.1} s, sent {sent}, received {came}{received}{reason}")
    }
}

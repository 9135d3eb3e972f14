//! Messages on the data channel of the page: JSON, one object per message.

use serde::{Deserialize, Serialize};

/// Number of a participant, unique on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParticipantId(pub u32);

/// Message to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToClient {
    /// Number that the client has.
    Welcome {
        /// Number of the client.
        id: ParticipantId,
    },
    /// All participants, the client among them: whenever something about one has changed.
    People {
        /// Participants in the order of their arrival.
        people: Vec<ParticipantInfo>,
    },
    /// Participant who speaks, or spoke last.
    Speaker {
        /// Number of the participant; `None`: nobody has spoken.
        id: Option<ParticipantId>,
    },
    /// Ceiling of the client's bitrate, and the number to acknowledge.
    Notice {
        /// Number of the notice.
        epoch: u32,
        /// Bitrate of all that the client sends, bit/s; `None`: as its own controller has it.
        ceiling_bps: Option<u64>,
    },
    /// Encodings of its video that somebody gets: the client is to pause those above.
    Encodings {
        /// Index of the highest one, the lowest being 0; `None`: nobody gets any.
        max: Option<u8>,
    },
    /// Question for the round trip.
    Ping {
        /// Number to answer with.
        sequence: u32,
    },
    /// Quality of everybody's connection, once a second.
    Quality {
        /// Connections by participant.
        people: Vec<ConnectionQuality>,
    },
}

/// Message of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromClient {
    /// State of the client's tracks.
    Tracks {
        /// True if its microphone is on.
        audio: bool,
        /// True if its camera or screen is on.
        video: bool,
        /// True if the video is its screen.
        screen: bool,
    },
    /// Estimate of the client's controller, and the newest notice that it follows.
    Report {
        /// Number of that notice.
        epoch: Option<u32>,
        /// Bandwidth that it may send with, bit/s.
        outgoing_bps: Option<f64>,
    },
    /// Answer to a ping.
    Pong {
        /// Number of the ping.
        sequence: u32,
    },
    /// Last message.
    Leave,
}

/// Participant as the others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParticipantInfo {
    /// Number of the participant.
    pub id: ParticipantId,
    /// Name.
    pub name: String,
    /// True if audio comes of it.
    pub has_audio: bool,
    /// True if video comes of it.
    pub has_video: bool,
    /// True if the video is a screen.
    pub is_screen: bool,
    /// Media line on which the receiver of the message gets its audio.
    pub audio_mid: Option<String>,
    /// Media line on which the receiver of the message gets its video.
    pub video_mid: Option<String>,
}

/// Quality of the connection of one participant. Rates are in bit/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionQuality {
    /// Number of the participant.
    pub id: ParticipantId,
    /// Capacity of its channel, both directions together.
    pub capacity_bps: Option<f64>,
    /// Rate that comes from it.
    pub up_bps: f64,
    /// Rate that goes to it.
    pub down_bps: f64,
    /// State of Plum: `natural`, `client` (its uplink is held) or `server` (its downlink is held).
    pub state: String,
    /// Rate that the held direction is held to.
    pub target_bps: Option<f64>,
    /// Grade for people: `good`, `fair` or `poor`.
    pub grade: String,
}

impl FromClient {
    /// Reads a message; `None` if it is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

impl ToClient {
    /// Text of the message.
    pub(crate) fn text(&self) -> Vec<u8> {
        // Nothing in it can fail to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_as_the_page_writes_them() {
        let read = |text: &str| FromClient::read(text.as_bytes());
        assert_eq!(
            read(r#"{"type":"report","epoch":3,"outgoing_bps":1.5e6}"#),
            Some(FromClient::Report { epoch: Some(3), outgoing_bps: Some(1.5e6) })
        );
        assert_eq!(read(r#"{"type":"leave"}"#), Some(FromClient::Leave));
        for wrong in ["", "[]", r#"{"type":"other"}"#, r#"{"type":"pong","sequence":-1}"#] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let notice = ToClient::Notice { epoch: 1, ceiling_bps: None };
        assert_eq!(notice.text(), br#"{"type":"notice","epoch":1,"ceiling_bps":null}"#);
    }
}

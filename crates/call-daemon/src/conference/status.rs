//! Status of a conference, for its operator.

use airlane_base::{Rate, Time};
use serde::Serialize;

use super::messages::ConnectionQuality;
use super::{Conference, Participant, Role};

/// Status of a conference.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallStatus {
    /// Seconds since it started.
    pub uptime_s: f64,
    /// Rooms by their names.
    pub rooms: Vec<RoomStatus>,
    /// Participants who have joined so far.
    pub joined_total: u64,
    /// Datagrams that were of no session.
    pub stray_datagrams_total: u64,
    /// Connections over TCP with media that are open.
    pub tcp_connections: usize,
    /// Datagrams that were not sent over TCP because their connection had no room, or was gone.
    pub tcp_dropped_datagrams_total: u64,
    /// Bytes of these datagrams.
    pub tcp_dropped_bytes_total: u64,
}

/// Status of a room.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoomStatus {
    /// Name of the room.
    pub name: String,
    /// Participants in the order of their arrival.
    pub participants: Vec<ParticipantStatus>,
}

/// Status of a participant. Rates are in bit/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParticipantStatus {
    /// Name of the participant.
    pub name: String,
    /// Kind of participation: `member`, `publisher` (WHIP) or `viewer` (WHEP).
    pub role: &'static str,
    /// True once packets can come and go.
    pub is_connected: bool,
    /// Transport of what goes to it: `udp` or `tcp`.
    pub transport: &'static str,
    /// Estimate of the controller of its uplink, as it reports it.
    pub up_estimate_bps: Option<f64>,
    /// Estimate of the controller of its downlink.
    pub down_estimate_bps: Option<f64>,
    /// Share of the packets to it that were lost of late.
    pub down_loss: f64,
    /// Bytes that came from it, with the headers of IP and of UDP or TCP.
    pub received_bytes: u64,
    /// Bytes that went to it, with these headers.
    pub sent_bytes: u64,
    /// Quality of its connection, and what is held.
    #[serde(flatten)]
    pub quality: ConnectionQuality,
}

impl Conference {
    /// Status of all rooms. Connections are the driver's.
    pub(crate) fn status(&self, now: Time) -> CallStatus {
        let rooms = self.rooms.iter().map(|(name, room)| {
            let members = room.members.iter().filter_map(|id| self.participants.get(id));
            let participants = members.map(|of| of.status()).collect();
            RoomStatus { name: name.to_string(), participants }
        });
        CallStatus {
            uptime_s: now.since(self.started).as_secs_f64(),
            rooms: rooms.collect(),
            joined_total: self.joined_total,
            stray_datagrams_total: self.stray_datagrams,
            ..CallStatus::default()
        }
    }
}

impl Participant {
    fn status(&self) -> ParticipantStatus {
        let traffic = self.session.traffic;
        let (up, down) = self.path.estimates();
        ParticipantStatus {
            name: self.name.clone(),
            role: match self.role {
                Role::Member => "member",
                Role::Publisher => "publisher",
                Role::Viewer => "viewer",
            },
            is_connected: self.is_connected,
            transport: self.session.transport.name(),
            up_estimate_bps: up.map(Rate::as_f64),
            down_estimate_bps: down.map(Rate::as_f64),
            down_loss: self.path.down_loss,
            received_bytes: traffic.received_bytes,
            sent_bytes: traffic.sent_bytes,
            quality: self.quality(),
        }
    }
}

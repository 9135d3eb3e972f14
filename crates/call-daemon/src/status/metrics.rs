//! Status of a conference server for Prometheus.

use std::sync::atomic::AtomicU64;

use airlane_host::prometheus::{self, real, whole};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::conference::{CallStatus, ParticipantStatus};

/// Label of a participant: names are chosen by clients, so its number it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfParticipant {
    room: String,
    participant: u32,
}

/// Function that gives a figure of a participant, if it has it.
type Figure = fn(&ParticipantStatus) -> Option<f64>;

/// Figures of each participant: name, help, value.
const FIGURES: [(&str, &str, Figure); 8] = [
    ("capacity_bps", "Capacity of the channel, both directions together", |of| {
        of.quality.capacity_bps
    }),
    ("up_bps", "Rate that comes from the participant", |of| Some(of.quality.up_bps)),
    ("down_bps", "Rate that goes to the participant", |of| Some(of.quality.down_bps)),
    ("up_estimate_bps", "Estimate of the uplink's controller", |of| of.up_estimate_bps),
    ("down_estimate_bps", "Estimate of the downlink's controller", |of| of.down_estimate_bps),
    ("target_bps", "Rate that a held direction is held to", |of| of.quality.target_bps),
    ("down_loss", "Share of lost packets to the participant", |of| Some(of.down_loss)),
    ("held", "Direction that is held: 0 none, 1 the uplink, 2 the downlink", |of| {
        Some(match of.quality.state.as_str() {
            "client" => 1.0,
            "server" => 2.0,
            _ => 0.0,
        })
    }),
];

/// Everything, as one page.
pub(super) fn page(status: &CallStatus) -> String {
    let mut page = Registry::default();
    let up = real(status.uptime_s);
    page.register("airlane_call_uptime_seconds", "Time since it started", up);
    page.register(
        "airlane_call_rooms",
        "Rooms with somebody in them",
        whole(status.rooms.len() as u64),
    );
    let participants = status.rooms.iter().map(|room| room.participants.len() as u64).sum();
    page.register("airlane_call_participants", "Participants", whole(participants));
    page.register(
        "airlane_call_tcp_connections",
        "Connections over TCP with media",
        whole(status.tcp_connections as u64),
    );
    for (name, help, value) in [
        ("joined", "Participants who have joined", status.joined_total),
        ("stray_datagrams", "Datagrams that were of no session", status.stray_datagrams_total),
        (
            "tcp_dropped_datagrams",
            "Datagrams that a connection over TCP had no room for",
            status.tcp_dropped_datagrams_total,
        ),
        ("tcp_dropped_bytes", "Bytes of these datagrams", status.tcp_dropped_bytes_total),
    ] {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        page.register(format!("airlane_call_{name}"), help, counter);
    }
    for (name, help, figure) in FIGURES {
        let family = Family::<OfParticipant, Gauge<f64, AtomicU64>>::default();
        for room in &status.rooms {
            for of in &room.participants {
                let label = OfParticipant { room: room.name.clone(), participant: of.quality.id.0 };
                if let Some(value) = figure(of) {
                    family.get_or_create(&label).set(value);
                }
            }
        }
        page.register(format!("airlane_call_participant_{name}"), help, family);
    }
    prometheus::text(&[&page])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conference::{ConnectionQuality, ParticipantId, RoomStatus};

    #[test]
    fn a_page_has_each_participant_by_room_and_number() {
        let quality = ConnectionQuality {
            id: ParticipantId(7),
            capacity_bps: Some(2e6),
            up_bps: 4e5,
            down_bps: 1.5e6,
            state: "client".to_owned(),
            target_bps: Some(5e5),
            grade: "good".to_owned(),
        };
        let participant = ParticipantStatus {
            name: "a \"name\"\n".to_owned(),
            role: "member",
            is_connected: true,
            transport: "tcp",
            up_estimate_bps: None,
            down_estimate_bps: Some(1.6e6),
            down_loss: 0.01,
            received_bytes: 1,
            sent_bytes: 2,
            quality,
        };
        let room = RoomStatus { name: "room".to_owned(), participants: vec![participant] };
        let status = CallStatus {
            uptime_s: 1.0,
            rooms: vec![room],
            joined_total: 3,
            tcp_dropped_bytes_total: 4,
            ..CallStatus::default()
        };
        let page = page(&status);
        for line in [
            "airlane_call_participants 1",
            "airlane_call_joined_total 3",
            "airlane_call_tcp_dropped_bytes_total 4",
            "airlane_call_participant_capacity_bps{room=\"room\",participant=\"7\"} 2000000.0",
            "airlane_call_participant_held{room=\"room\",participant=\"7\"} 1.0",
        ] {
            assert!(page.lines().any(|of| of == line), "{line}\n{page}");
        }
        assert!(!page.contains("up_estimate_bps{") && !page.contains("name"), "{page}");
    }
}

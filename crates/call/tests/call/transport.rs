//! Calls whose video goes over a media transport beside the connections.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Rate;
use airlane_call::wire::{HEADER_BYTES, Track};
use airlane_call::{
    ArrivedMessages, CallError, Media, MediaCounts, MediaOf, MediaTransport, OutgoingVideo,
    ServerConfig,
};
use airlane_runtime::BoxFuture;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::world::{Client, Outcome, call, half_duplex, link};

/// Change of a message on its way; `None`: it is lost.
type Fate = fn(usize, Bytes) -> Option<Bytes>;

/// End of a transport in memory that takes no time.
struct End {
    to: mpsc::UnboundedSender<Bytes>,
    from: Mutex<Option<mpsc::UnboundedReceiver<Bytes>>>,
    estimate: Option<Rate>,
    fate: Fate,
    counts: Arc<Mutex<MediaCounts>>,
    max_rate: Arc<Mutex<Vec<Option<Rate>>>>,
}

impl MediaTransport for End {
    fn run(&self, outgoing: OutgoingVideo, mut arrived: ArrivedMessages) -> BoxFuture<CallError> {
        let (to, from) = (self.to.clone(), self.from.lock().take());
        let (fate, counts) = (self.fate, self.counts.clone());
        Box::pin(async move {
            let Some(mut from) = from else { return CallError::Media("it has run".to_owned()) };
            let send = async {
                for number in 0.. {
                    poll_fn(|cx| outgoing.poll_waiting(cx)).await;
                    let Some(message) = outgoing.take() else { continue };
                    if let Some(message) = fate(number, message.bytes) {
                        counts.lock().delivered_bytes += message.len() as u64;
                        // The other end may have left.
                        drop(to.send(message));
                    }
                }
            };
            let receive = async {
                while let Some(message) = from.recv().await {
                    counts.lock().received_bytes += message.len() as u64;
                    arrived(message);
                }
            };
            tokio::join!(send, receive);
            CallError::Media("the other end is gone".to_owned())
        })
    }

    fn estimate(&self) -> Option<Rate> {
        self.estimate
    }

    fn counts(&self) -> MediaCounts {
        *self.counts.lock()
    }

    fn set_max_rate(&self, max_rate: Option<Rate>) {
        self.max_rate.lock().push(max_rate);
    }
}

/// Both ends of a transport: that of the participant, whose messages have this fate, and that of the server.
fn ends(estimates: [Option<Rate>; 2], fate: Fate) -> (Arc<End>, Arc<End>) {
    let (to_server, from_participant) = mpsc::unbounded_channel();
    let (to_participant, from_server) = mpsc::unbounded_channel();
    let end = |to, from, estimate, fate| End {
        to,
        from: Mutex::new(Some(from)),
        estimate,
        fate,
        counts: Arc::default(),
        max_rate: Arc::default(),
    };
    let participant = end(to_server, from_server, estimates[0], fate);
    let server = end(to_participant, from_participant, estimates[1], |_, message| Some(message));
    (Arc::new(participant), Arc::new(server))
}

/// Clients on these links and a server, with transports in memory between them.
fn with_transports(
    clients: usize,
    mbps: f64,
    estimates: [Option<Rate>; 2],
    fate: Fate,
) -> (Vec<Client>, ServerConfig) {
    let mut of_server = BTreeMap::new();
    let clients = (0..clients).map(|i| {
        let (participant, server) = ends(estimates, fate);
        of_server.insert(format!("p{i}"), Media(server));
        Client { media: Some(Media(participant)), ..link(mbps).into() }
    });
    let clients: Vec<_> = clients.collect();
    let of_server = Mutex::new(of_server);
    let media = MediaOf(Arc::new(move |name: &str| of_server.lock().remove(name)));
    (clients, ServerConfig { media: Some(media), ..ServerConfig::default() })
}

const LENGTH: Duration = Duration::from_secs(6);
const FROM: Duration = Duration::from_secs(2);

fn mbps(rate: f64) -> Option<Rate> {
    Some(Rate::from_mbps(rate))
}

fn frames(outcome: &Outcome, client: usize, track: Track) -> usize {
    outcome.shown[client].iter().filter(|record| record.header.track == track).count()
}

#[test]
fn video_follows_the_transport_and_audio_stays_on_the_connection() {
    // The link alone would carry none of the video.
    let (clients, server) =
        with_transports(3, 0.3, [mbps(2.0), mbps(3.0)], |_, message| Some(message));
    let outcome = call(clients, server, LENGTH);
    assert_eq!(outcome.ended, vec![None, None, None]);
    for client in 0..3 {
        let sent = outcome.sent_mbps(client, FROM, LENGTH);
        assert!((1.7..2.0).contains(&sent), "client {client} sent {sent} Mbit/s");
        // Both others' 2 Mbit/s do not fit into an estimate of 3 Mbit/s.
        let received = outcome.received_mbps(client, FROM, LENGTH);
        assert!((2.5..3.0).contains(&received), "client {client} received {received} Mbit/s");
        assert!(frames(&outcome, client, Track::Camera) > 230);
        assert!(outcome.audio[client] > 560, "{} frames of audio", outcome.audio[client]);
    }
    let channel = outcome.channel(0);
    let last = channel.last().unwrap();
    assert_eq!((last.up_estimate, last.down_estimate), (mbps(2.0), mbps(3.0)));
}

#[test]
fn before_the_transport_estimates_anything_video_has_its_least_bitrate() {
    let (clients, server) = with_transports(2, 5.0, [None, None], |_, message| Some(message));
    let outcome = call(clients, server, LENGTH);
    let sent = outcome.sent_mbps(0, FROM, LENGTH);
    assert!((0.9..1.1).contains(&sent), "{sent} Mbit/s");
    assert!(outcome.channel(0).iter().all(|record| record.up_estimate.is_none()));
}

#[test]
fn a_lost_frame_costs_a_key_frame() {
    let (clients, server) = with_transports(2, 5.0, [mbps(2.0), mbps(2.0)], |number, message| {
        (number != 60).then_some(message)
    });
    let outcome = call(clients, server, LENGTH);
    assert_eq!(outcome.ended, vec![None, None]);
    let keys = outcome.encoded[0].iter().filter(|r| r.track == Track::Camera && r.is_key);
    let keys: Vec<_> = keys.map(|record| record.frame).collect();
    // The second one is for who joins. Frame 60 came 3 s after the first; a key frame is asked for 1 s later.
    let [0, ..2, after] = keys[..] else { panic!("{keys:?}") };
    assert!((79..85).contains(&after), "{keys:?}");
    assert!(frames(&outcome, 1, Track::Camera) > 90);
}

#[test]
fn messages_that_are_no_frames_end_the_call() {
    let fates: [Fate; 3] = [
        |_, message| Some(message.slice(..HEADER_BYTES - 1)),
        |_, message| Some(message.slice(..message.len() - 1)),
        |_, message| Some([&[9], &message[1..]].concat().into()),
    ];
    let expected = ["without a whole header", "another length", "version 9"];
    for (fate, expected) in fates.into_iter().zip(expected) {
        let (clients, server) = with_transports(1, 5.0, [mbps(2.0), mbps(2.0)], fate);
        let outcome = call(clients, server, Duration::from_secs(2));
        let ended = outcome.ended[0].clone().unwrap();
        assert!(ended.contains(expected), "{ended}");
    }
}

#[test]
fn who_has_no_transport_is_not_let_in() {
    let (mut clients, server) =
        with_transports(2, 5.0, [mbps(2.0), mbps(2.0)], |_, message| Some(message));
    let (stranger, _) = ends([None, None], |_, message| Some(message));
    clients.push(Client { media: Some(Media(stranger)), ..link(5.0).into() });
    let outcome = call(clients, server, LENGTH);
    assert_eq!((&outcome.ended[0], &outcome.ended[1]), (&None, &None));
    let ended = outcome.ended[2].clone().unwrap();
    assert!(ended.contains("without a media transport"), "{ended}");
}

#[test]
fn deliveries_of_the_transport_count_for_the_capacity() {
    // Audio both ways fills the channel; what the transport says to have delivered beside it counts as well.
    let (mut clients, server) =
        with_transports(2, 5.0, [mbps(2.0), mbps(6.0)], |_, message| Some(message));
    clients[0].access = half_duplex(0.15);
    let outcome = call(clients, server, Duration::from_secs(10));
    let capacity = outcome.channel(0).last().unwrap().capacity.unwrap().mbps();
    // Up and down 1.86 Mbit/s each, beside what the channel itself carries; the estimates have 8 together.
    assert!((3.6..4.1).contains(&capacity), "{capacity} Mbit/s");
}

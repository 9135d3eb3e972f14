//! Video of calls over WebRTC: a session of str0m for each direction of each participant (`docs/design/calls.md`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_call::{ArrivedMessages, CallError, Media, MediaCounts, MediaTransport, OutgoingVideo};
use airlane_runtime::{BoxFuture, RuntimeHandle, UdpSocket};
use airlane_webrtc::{
    Ask, CallConfig, Count, Delivered, Delivery, Frame, FrameSource, Protection, ReceiverHalf,
    ReceiverStats, SenderHalf, SenderStats, ip_rate, receive, send,
};
use parking_lot::Mutex;

use airlane_scenario::Cipher;
use airlane_sim::LabError;
use airlane_sim::world::{Pair, RunContext};

/// Port of a participant for what it sends; the next one is for what it receives.
const PARTICIPANT_PORT: u16 = 5004;
/// Port of the server for the first participant; each has two.
const SERVER_PORT: u16 = 6000;
/// Time of its estimated rate that a session holds of video that has not left: a frame of a source of 20 a second.
/// What waits before that can still be dropped.
const MAX_PENDING_TIME: Duration = Duration::from_millis(50);
/// Bytes that a session holds at least, as a connection beyond its window.
const MIN_PENDING_BYTES: u64 = 8 << 10;

/// Participant whose video goes over WebRTC.
pub(super) struct Sessions<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its number in the scenario.
    pub(super) number: usize,
    /// Time at which it joins.
    pub(super) begin: Time,
    /// Highest bitrates of what it sends, and of what it receives.
    pub(super) max_up: Rate,
    pub(super) max_down: Rate,
}

impl Sessions<'_> {
    /// Both ends of its transport: its own, and the server's.
    ///
    /// # Errors
    /// If sockets cannot be bound, or a session cannot be set up between them.
    pub(super) fn start(
        &self,
        pair: &Pair,
        context: &RunContext<'_>,
    ) -> Result<(Media, Media), LabError> {
        let fault = |e: &dyn std::fmt::Display| {
            LabError::fault(format!("a session of WebRTC cannot be made: {e}"))
        };
        let first_port = usize::from(SERVER_PORT) + 2 * self.number;
        let ports = |ahead: u16| {
            let server = u16::try_from(first_port).ok().and_then(|port| port.checked_add(ahead));
            let server = server.ok_or_else(|| LabError::fault("more participants than ports"))?;
            let client = SocketAddr::new(pair.from[0], PARTICIPANT_PORT + ahead);
            Ok::<_, LabError>((client, SocketAddr::new(pair.address.ip(), server)))
        };
        let bind = |host: &RuntimeHandle, at| host.bind_udp(at).map_err(|e| fault(&e));
        let seed = context.seed.split("webrtc").split(self.name);
        let halves = |direction: &str, desired, from, to| {
            let config = self.config(desired, context);
            let seed = seed.split(direction);
            airlane_webrtc::pair(&config, seed, self.begin, from, to).map_err(|e| fault(&e))
        };
        let (client, server) = ports(0)?;
        let (up_sender, up_receiver) = halves("up", self.max_up, client, server)?;
        let up_sockets = (bind(&pair.client, client)?, bind(&pair.server, server)?);
        let (client, server) = ports(1)?;
        let (down_sender, down_receiver) = halves("down", self.max_down, server, client)?;
        let down_sockets = (bind(&pair.server, server)?, bind(&pair.client, client)?);
        let participant =
            End::new(&pair.client, (up_sender, up_sockets.0), (down_receiver, down_sockets.1));
        let server =
            End::new(&pair.server, (down_sender, down_sockets.0), (up_receiver, up_sockets.1));
        Ok((Media(Arc::new(participant)), Media(Arc::new(server))))
    }

    fn config(&self, desired: Rate, context: &RunContext<'_>) -> CallConfig {
        CallConfig {
            protection: match context.scenario().transport.cipher {
                Cipher::Null => Protection::Null,
                Cipher::Tls => Protection::Sealed,
            },
            delivery: Delivery::Whole,
            counts_delivered: true,
            ..CallConfig::new(desired)
        }
    }
}

/// Halves of sessions with their sockets, until they run.
type Halves = ((SenderHalf, Box<dyn UdpSocket>), (ReceiverHalf, Box<dyn UdpSocket>));

/// One end of a participant's transport: the sender of one session, and the receiver of the other.
struct End {
    clock: RuntimeHandle,
    halves: Mutex<Option<Halves>>,
    sent: SenderStats,
    received: ReceiverStats,
    max_rate: Arc<Mutex<Option<Rate>>>,
}

impl End {
    fn new(
        clock: &RuntimeHandle,
        sender: (SenderHalf, Box<dyn UdpSocket>),
        receiver: (ReceiverHalf, Box<dyn UdpSocket>),
    ) -> Self {
        let (sent, received) = (sender.0.stats(), receiver.0.stats());
        let halves = Mutex::new(Some((sender, receiver)));
        Self { clock: clock.clone(), halves, sent, received, max_rate: Arc::default() }
    }
}

impl MediaTransport for End {
    fn run(&self, outgoing: OutgoingVideo, mut arrived: ArrivedMessages) -> BoxFuture<CallError> {
        let Some((sender, receiver)) = self.halves.lock().take() else {
            return Box::pin(async { CallError::Media("a session that has ended".to_owned()) });
        };
        let source = Source { outgoing, sent: self.sent.clone(), max_rate: self.max_rate.clone() };
        let clock = self.clock.clone();
        Box::pin(async move {
            let sink = move |message: Delivered| arrived(message.data);
            let error = tokio::select! {
                biased;
                sent = send(sender.0, &clock, sender.1, source) => sent.err(),
                received = receive(receiver.0, &clock, receiver.1, sink) => received.err(),
            };
            CallError::Media(error.map_or_else(|| "it ended".to_owned(), |e| e.to_string()))
        })
    }

    fn estimate(&self) -> Option<Rate> {
        self.sent.with(|sent| {
            let (_, target) = sent.targets.last().filter(|_| sent.rtt.is_some())?;
            Some(ip_rate(*target))
        })
    }

    fn counts(&self) -> MediaCounts {
        let received = self.received.read();
        self.sent.with(|sent| {
            // What is no RTP, 2 % of all bytes or so, has no feedback: it is taken to arrive.
            let control = [sent.sent.reports, received.sent.total()];
            let delivered = ip_bytes(sent.delivered) + control.map(ip_bytes).iter().sum::<u64>();
            MediaCounts {
                received_bytes: ip_bytes(sent.received) + ip_bytes(received.received),
                delivered_bytes: delivered,
            }
        })
    }

    fn set_max_rate(&self, max_rate: Option<Rate>) {
        *self.max_rate.lock() = max_rate;
    }
}

fn ip_bytes(count: Count) -> u64 {
    count.bytes + u64::from(IP_UDP_HEADER_BYTES) * count.packets
}

/// Source of frames that takes the next message once the session has room for it.
struct Source {
    outgoing: OutgoingVideo,
    sent: SenderStats,
    max_rate: Arc<Mutex<Option<Rate>>>,
}

impl Source {
    /// True if the session holds less than it may of what has not left.
    fn has_room(&self) -> bool {
        self.sent.with(|sent| {
            let target = sent.targets.last().map_or(Rate::ZERO, |(_, target)| *target);
            sent.pending_bytes < target.bytes_in(MAX_PENDING_TIME).max(MIN_PENDING_BYTES)
        })
    }
}

impl FrameSource for Source {
    fn next_at(&self) -> Option<Time> {
        let is_due = self.outgoing.is_waiting() && self.has_room();
        Some(if is_due { Time::ZERO } else { Time::FAR_FUTURE })
    }

    fn frame(&mut self, ask: &Ask) -> Option<Frame> {
        let message = self.outgoing.take()?;
        Some(Frame { data: message.bytes, key: message.is_key, captured: ask.now })
    }

    fn poll_earlier(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // While the session has no room, what it sends next wakes its task.
        match self.has_room() {
            true => self.outgoing.poll_waiting(cx),
            false => Poll::Pending,
        }
    }

    fn max_rate(&self) -> Option<Rate> {
        *self.max_rate.lock()
    }
}

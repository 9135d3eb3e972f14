//! Session of str0m with one client: fed with datagrams and times, and drained of what it has to say.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use str0m::net::{DatagramRecv, Receive, Transmit};
use str0m::{Candidate, CandidateKind, Event, Input, Output, Rtc};

use super::remote::{Remote, Transport};
use super::stun::is_stun;

/// Share of the bytes of packets that is payload: the rest is headers, and packets that are sent again.
pub(crate) const MEDIA_SHARE: f64 = 0.93;
/// Times that str0m may want to be called at one time without anything to show for it, and the pause after that.
const MAX_IDLE_CALLS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);
/// Pause before a session is called again that wants to be called at once.
const MIN_PAUSE: Duration = Duration::from_micros(500);

/// Bytes and packets of a session since its beginning, with the headers of IP and of UDP or TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) received_bytes: u64,
    pub(crate) received_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) sent_packets: u64,
}

/// Session with one client. Once it has failed, or panicked, it is over, and the others go on.
pub(crate) struct Session {
    rtc: Rtc,
    is_over: bool,
    pub(crate) traffic: Traffic,
    /// Transport of the last datagram that was sent, but for answers to checks of any pair of addresses.
    pub(crate) transport: Transport,
}

impl Session {
    pub(crate) fn new(rtc: Rtc) -> Self {
        Self { rtc, is_over: false, traffic: Traffic::default(), transport: Transport::Udp }
    }

    /// True if nothing comes of it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Calls str0m; `None` if it is over. [`Self::drain`] has to follow.
    pub(crate) fn call<T>(&mut self, call: impl FnOnce(&mut Rtc) -> T) -> Option<T> {
        if self.is_over {
            return None;
        }
        let rtc = &mut self.rtc;
        let result = catch_unwind(AssertUnwindSafe(|| call(rtc)));
        self.is_over |= result.is_err();
        result.ok()
    }

    /// True if a STUN message has this session's password.
    pub(crate) fn accepts(&mut self, at: Instant, datagram: &Datagram<'_>) -> bool {
        // str0m takes all that comes from the address that it sends to, over whichever transport: here it knows of none.
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let from = Remote { address, ..datagram.from };
        let Some(input) = (Datagram { from, ..*datagram }).input(at) else { return false };
        self.call(|rtc| rtc.accepts(&input)).unwrap_or(false)
    }

    /// Forgets an address of the client from which nothing comes any more. [`Self::drain`] has to follow.
    pub(crate) fn forget(&mut self, remote: Remote) {
        let (protocol, kind) = (remote.transport.protocol(), CandidateKind::PeerReflexive);
        let foundation = String::new();
        let gone = Candidate::from_parts(
            foundation,
            1,
            protocol,
            1,
            remote.address,
            kind,
            None,
            None,
            None,
        );
        self.call(|rtc| rtc.direct_api().invalidate_candidate(&gone));
    }

    /// Takes a datagram. One that makes no sense is a lost one.
    pub(crate) fn receive(&mut self, at: Instant, datagram: &Datagram<'_>) {
        let Some(input) = datagram.input(at) else { return };
        let header_bytes = datagram.from.transport.header_bytes();
        self.traffic.received_bytes += datagram.bytes.len() as u64 + header_bytes;
        self.traffic.received_packets += 1;
        if let Some(Err(e)) = self.call(|rtc| rtc.handle_input(input)) {
            tracing::debug!("a session ended: {e}");
            self.is_over = true;
        }
    }

    /// Lets str0m do all that is due, hands its datagrams to `send` and appends its events. Time at which it wants to
    /// be called again, not at once.
    pub(crate) fn drain(
        &mut self,
        now: Instant,
        send: &mut dyn FnMut(&Transmit),
        events: &mut Vec<Event>,
    ) -> Option<Instant> {
        let (mut traffic, mut transport) = (self.traffic, self.transport);
        let drained = self.call(|rtc| {
            rtc.handle_input(Input::Timeout(now))?;
            let mut idle = 0;
            loop {
                match rtc.poll_output()? {
                    Output::Timeout(at) if at > now => return Ok(at),
                    Output::Timeout(_) if idle >= MAX_IDLE_CALLS => return Ok(now + PAUSE),
                    Output::Timeout(_) => {
                        idle += 1;
                        rtc.handle_input(Input::Timeout(now))?;
                    }
                    Output::Transmit(transmit) => {
                        let over = Transport::of(transmit.proto);
                        let header_bytes = over.header_bytes();
                        if !is_stun(&transmit.contents) {
                            transport = over;
                        }
                        traffic.sent_bytes += transmit.contents.len() as u64 + header_bytes;
                        traffic.sent_packets += 1;
                        send(&transmit);
                        // Until it is called with the time it gives no further packet. Polling it first, for that time,
                        // would have it go through all streams once more.
                        rtc.handle_input(Input::Timeout(now))?;
                    }
                    Output::Event(event) => events.push(event),
                }
            }
        });
        (self.traffic, self.transport) = (traffic, transport);
        let drained: Result<Instant, str0m::RtcError> = drained?;
        match drained {
            Ok(at) if self.rtc.is_alive() => Some(at.max(now + MIN_PAUSE)),
            Ok(_) => {
                self.is_over = true;
                None
            }
            Err(e) => {
                tracing::debug!("a session ended: {e}");
                self.is_over = true;
                None
            }
        }
    }
}

/// Datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) from: Remote,
    /// Address that the client has sent it to, as it was announced.
    pub(crate) to: SocketAddr,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Datagram<'a> {
    fn input(&self, at: Instant) -> Option<Input<'a>> {
        let contents = DatagramRecv::try_from(self.bytes).ok()?;
        let (proto, source) = (self.from.transport.protocol(), self.from.address);
        Some(Input::Receive(at, Receive { proto, source, destination: self.to, contents }))
    }
}

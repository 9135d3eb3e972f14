//! One end of a call: str0m's state machine with what it draws at random seeded.

use std::net::SocketAddr;
use std::time::Instant;

use airlane_base::{Seed, Time};
use str0m::change::DirectApi;
use str0m::media::{MediaKind, Mid};
use str0m::net::{DatagramRecv, Protocol, Receive};
use str0m::rtp::Ssrc;
use str0m::{Input, Output, Rtc, RtcError};

use crate::clock::Clock;

/// The stream of video, and that of what is sent again.
pub(crate) const MEDIA: u32 = 1_000;
pub(crate) const REPEATS: u32 = 1_001;

/// Its name in packets, as short as they get.
const NAME: &str = "v";

pub(crate) fn mid() -> Mid {
    NAME.into()
}

pub(crate) fn ssrc() -> Ssrc {
    MEDIA.into()
}

/// str0m at one end.
pub(crate) struct Engine {
    rtc: Rtc,
    pub(crate) clock: Clock,
    seed: Seed,
    calls: u64,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Engine {
    pub(crate) fn new(rtc: Rtc, clock: Clock, seed: Seed) -> Self {
        Self { rtc, clock, seed, calls: 0 }
    }

    /// Calls str0m. Its generator belongs to the thread; for the time of a call it starts at a seed
    /// of this end's own, so that what is drawn depends on nothing else that runs on the thread.
    pub(crate) fn call<T>(&mut self, f: impl FnOnce(&mut Rtc) -> T) -> T {
        let others = fastrand::get_seed();
        fastrand::seed(self.seed.index(self.calls).0);
        self.calls += 1;
        let result = f(&mut self.rtc);
        fastrand::seed(others);
        result
    }

    /// Next output of the engine.
    pub(crate) fn poll(&mut self) -> Result<Output, RtcError> {
        self.call(Rtc::poll_output)
    }

    /// Tells it the time.
    pub(crate) fn time_out(&mut self, now: Time) -> Result<(), RtcError> {
        let now = self.clock.instant(now);
        self.call(|rtc| rtc.handle_input(Input::Timeout(now)))
    }

    /// Gives it a datagram. What it makes nothing of is a lost one.
    pub(crate) fn take_in(&mut self, at: Time, from: SocketAddr, to: SocketAddr, payload: &[u8]) {
        self.take_in_at(self.clock.instant(at), from, to, payload);
    }

    /// The same at an instant, which may be before the start of the world.
    pub(crate) fn take_in_at(
        &mut self,
        at: Instant,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
    ) {
        let Ok(contents) = DatagramRecv::try_from(payload) else {
            tracing::debug!(src = %from, "a datagram is none of WebRTC");
            return;
        };
        let received = Receive { proto: Protocol::Udp, source: from, destination: to, contents };
        if let Err(e) = self.call(|rtc| rtc.handle_input(Input::Receive(at, received))) {
            tracing::debug!(src = %from, "a datagram was refused: {e}");
        }
    }

    /// Declares the stream of video, which is sent or received.
    pub(crate) fn declare(&mut self, declare: impl FnOnce(&mut DirectApi<'_>)) {
        self.call(|rtc| {
            let mut api = rtc.direct_api();
            api.declare_media(mid(), MediaKind::Video);
            declare(&mut api);
        });
    }
}

//! A running link, and the requests that it takes.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_base::InputError;
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

use crate::clock::Clock;
use crate::device_drops::Missed;
use crate::driver::{Command, Driver, Port, Snapshot};
use crate::engine::{DIRECTIONS, Engine, place};
use crate::error::LinkError;
use crate::spec::LinkSpec;
use crate::totals::Totals;
use crate::tun::{Namespaces, Pair, TunSpec};
use crate::udp::{Forwarder, UdpSpec};
use crate::wake::Bell;

/// Endpoints of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// Clients that send UDP to it, and a target. Needs no privileges.
    Udp(UdpSpec),
    /// Two devices for IP packets of any kind. Needs CAP_NET_ADMIN, and CAP_SYS_ADMIN for other
    /// namespaces.
    Tun(TunSpec),
}

/// Configuration of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Model of the link: its effect on packets.
    pub link: LinkSpec,
    /// Endpoints of the link.
    pub mode: Mode,
    /// The real-time priority (1 to 99, SCHED_FIFO) that its thread is to have if the system
    /// permits; [`Totals::realtime`] says whether it did.
    pub realtime: Option<u8>,
}

/// A link at work on a thread of its own. Dropping it stops it.
pub struct Link {
    clock: Clock,
    bell: Bell,
    /// `None` once it is stopped: the end of commands ends the thread.
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<Result<Snapshot, LinkError>>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
    missed: Missed,
    addresses: Vec<SocketAddr>,
    /// Go after the thread.
    _namespaces: Namespaces,
}

impl Link {
    /// Starts a link. When this returns, packets are taken.
    ///
    /// # Errors
    /// If the request is wrong, or the system does not grant what it takes.
    pub fn start(request: &LinkConfig) -> Result<Self, LinkError> {
        if let Some(priority) = request.realtime.filter(|p| !(1..=99).contains(p)) {
            let found = format!("{priority} is no real-time priority");
            return Err(InputError::new(found, "expected 1 to 99").at_key("realtime").into());
        }
        match &request.mode {
            Mode::Udp(udp) => {
                let port = Forwarder::new(udp)?;
                let addresses = port.addresses()?;
                Self::spawn(request, port, Missed::of_sockets(), addresses, Namespaces::default())
            }
            Mode::Tun(tun) => {
                let (port, namespaces) = Pair::new(tun)?;
                let missed = Missed::Devices(port.counters()?);
                Self::spawn(request, port, missed, Vec::new(), namespaces)
            }
        }
    }

    fn spawn(
        request: &LinkConfig,
        port: impl Port + 'static,
        missed: Missed,
        addresses: Vec<SocketAddr>,
        namespaces: Namespaces,
    ) -> Result<Self, LinkError> {
        let bell = Bell::new()?;
        let (commands, orders) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let engine = Engine::new(&request.link);
        let realtime = request.realtime;
        let clock = Clock::start();
        let mut driver =
            Driver { port, engine, clock, bell: bell.clone(), commands: orders, realtime: false };
        let work = move || {
            // Held until the thread ends, however it does.
            let _end = end;
            // Timers of a thread are rounded to 50 us otherwise.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            driver.realtime = realtime.is_some_and(become_realtime);
            driver.run()
        };
        let thread = std::thread::Builder::new().name("link".to_owned()).spawn(work);
        let thread = thread.map_err(LinkError::system("start a thread"))?;
        Ok(Self {
            clock,
            bell,
            commands: Some(commands),
            thread: Some(thread),
            ended,
            missed,
            addresses,
            _namespaces: namespaces,
        })
    }

    /// The addresses that clients send to; none between devices.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The first of these.
    pub fn address(&self) -> Option<SocketAddr> {
        self.addresses.first().copied()
    }

    /// The clock that the link lives by: it showed zero at the start of its traces.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Totals of the link so far.
    ///
    /// # Errors
    /// Why it ended, if it did.
    pub fn totals(&mut self) -> Result<Totals, LinkError> {
        let (reply, answer) = mpsc::channel();
        if let Some(commands) = &self.commands {
            // A thread that has ended does not answer either.
            let _ = commands.send(Command::Totals(reply));
            self.bell.ring();
        }
        match answer.recv() {
            Ok(snapshot) => Ok(self.complete(snapshot)),
            Err(_) => Err(self.join().err().unwrap_or(LinkError::Gone)),
        }
    }

    /// Waits for so long, or until the link ends by itself: then it says so.
    pub fn wait(&self, time: Duration) -> bool {
        self.ended.recv_timeout(time) == Err(RecvTimeoutError::Disconnected)
    }

    /// Stops the link. Packets on the way stay in the totals as held.
    ///
    /// # Errors
    /// Why it ended before, if it did.
    pub fn stop(mut self) -> Result<Totals, LinkError> {
        let snapshot = self.join()?;
        Ok(self.complete(snapshot))
    }

    fn join(&mut self) -> Result<Snapshot, LinkError> {
        self.commands = None;
        self.bell.ring();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => Err(LinkError::Gone),
        }
    }

    /// Adds what the thread cannot know.
    fn complete(&mut self, Snapshot { mut totals, sockets }: Snapshot) -> Totals {
        let missed = self.missed.count(&sockets);
        for direction in DIRECTIONS {
            totals.way_mut(direction).missed = missed[place(direction)];
        }
        totals
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // If it failed before, `wait` or `stop` returned the error, or no one called them.
        let _ = self.join();
    }
}

/// Gives this thread a real-time priority; says whether the system permits it.
fn become_realtime(priority: u8) -> bool {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    ThreadPriorityValue::try_from(priority).is_ok_and(|value| {
        let priority = ThreadPriority::Crossplatform(value);
        set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok()
    })
}

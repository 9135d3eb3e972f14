//! A world: hosts on an emulated network, and the loop that moves its clock.

use std::fmt;
use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use airlane_base::{Packet, Seed, Time};
use airlane_net::Network;
use bytes::{Bytes, BytesMut};
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use super::executor::{Executor, Inbox, Step};
use super::hosts::{HostId, Hosts, SocketId};
use super::timers::{TimerId, Timers};
use crate::api::{BoxFuture, Datagram, Received, Runtime, RuntimeHandle, Timer, UdpSocket};

/// Polls without the clock moving after which a world counts as stuck.
const LIVELOCK_POLLS: u64 = 5_000_000;

/// An emulated network, as the world drives it. Pure: time is an argument and never goes back.
pub trait Fabric: Send + 'static {
    /// Takes a packet from the host that sent it.
    fn send(&mut self, now: Time, packet: Box<Packet>);
    /// Time at which to poll next.
    fn next_event(&self) -> Option<Time>;
    /// The next packet that has arrived at its destination by `now`.
    fn poll(&mut self, now: Time) -> Option<Box<Packet>>;
    /// True if there is room in front of a host's access for more packets from one address to another.
    fn has_room(&self, src: IpAddr, dst: IpAddr) -> bool {
        let _ = (src, dst);
        true
    }
}

/// Error that ended a world before its main task did. Every message names the virtual time and
/// the seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A task panicked.
    #[error("task '{task}' panicked at {at} with seed {seed}: {message}")]
    Panicked {
        /// The task's name.
        task: &'static str,
        /// The panic's message.
        message: String,
        /// Virtual time.
        at: Time,
        /// The world's seed.
        seed: u64,
    },
    /// Nothing is left to happen, and the main task waits.
    #[error(
        "the world stopped at {at} with seed {seed}: nothing is left to happen, yet these wait: {waiting}"
    )]
    Stalled {
        /// Virtual time.
        at: Time,
        /// The world's seed.
        seed: u64,
        /// Names of the waiting tasks.
        waiting: String,
    },
    /// Tasks wake each other for ever while the clock stands still.
    #[error(
        "the clock stood still at {at} with seed {seed} for {polls} polls; these tasks live: {waiting}"
    )]
    Livelock {
        /// Virtual time.
        at: Time,
        /// The world's seed.
        seed: u64,
        /// Polls since the clock moved.
        polls: u64,
        /// Names of the live tasks.
        waiting: String,
    },
    /// The time that the world was given is over.
    #[error(
        "the main task had not ended at {at}, the end of the world with seed {seed}; these wait: {waiting}"
    )]
    OutOfTime {
        /// Virtual time.
        at: Time,
        /// The world's seed.
        seed: u64,
        /// Names of the waiting tasks.
        waiting: String,
    },
    /// The world was stopped.
    #[error("stopped at {at}")]
    Stopped {
        /// Virtual time.
        at: Time,
    },
}

/// Counts of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldStats {
    /// Packets that hosts sent.
    pub packets_sent: u64,
    /// Packets that reached a host but no open socket with room.
    pub packets_unwanted: u64,
    /// Times a task was polled.
    pub polls: u64,
}

impl Fabric for Network {
    fn send(&mut self, now: Time, packet: Box<Packet>) {
        Self::send(self, now, packet);
    }

    fn next_event(&self) -> Option<Time> {
        Self::next_event(self)
    }

    fn poll(&mut self, now: Time) -> Option<Box<Packet>> {
        Self::poll(self, now).map(|delivered| delivered.packet)
    }

    fn has_room(&self, src: IpAddr, dst: IpAddr) -> bool {
        Self::has_room(self, src, dst)
    }
}

struct State<F> {
    timers: Timers,
    hosts: Hosts,
    fabric: F,
}

struct Core<F> {
    now: AtomicU64,
    inbox: Arc<Inbox>,
    state: Mutex<State<F>>,
    seed: Seed,
}

impl<F> Core<F> {
    fn now(&self) -> Time {
        Time::from_nanos(self.now.load(Ordering::Relaxed))
    }
}

/// A world in virtual time.
///
/// ```
/// # use airlane_runtime::{RuntimeExt, virtual_time::World};
/// # use airlane_net::Network;
/// # use airlane_base::{Seed, Time};
/// # use std::time::Duration;
/// let mut world = World::new(Seed(1), Network::new());
/// let host = world.host("a", [10, 0, 0, 1].into());
/// let hour = Duration::from_secs(3600);
/// let ended = world.run({ let h = host.clone(); async move { h.sleep(hour).await; h.now() } });
/// assert_eq!(ended.unwrap(), Time::ZERO + hour);
/// ```
pub struct World<F: Fabric = Network> {
    core: Arc<Core<F>>,
    executor: Executor,
    end: Time,
    stop: Option<Arc<AtomicBool>>,
    polls: u64,
}

impl<F: Fabric> World<F> {
    /// An empty world on `fabric`.
    pub fn new(seed: Seed, fabric: F) -> Self {
        let inbox = Arc::new(Inbox::default());
        let core = Arc::new(Core {
            now: AtomicU64::new(0),
            inbox: inbox.clone(),
            state: Mutex::new(State { timers: Timers::default(), hosts: Hosts::default(), fabric }),
            seed,
        });
        Self { core, executor: Executor::new(inbox), end: Time::FAR_FUTURE, stop: None, polls: 0 }
    }

    /// Ends the world at `end` with [`WorldError::OutOfTime`] if the main task has not ended.
    pub fn end_at(&mut self, end: Time) {
        self.end = end;
    }

    /// Ends the world with [`WorldError::Stopped`] soon after `stop` becomes true.
    pub fn stop_on(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// Adds a host, and returns the runtime that its roles run on.
    ///
    /// # Panics
    /// If another host has the address.
    pub fn host(&mut self, name: &str, ip: IpAddr) -> RuntimeHandle {
        self.host_with(name, &[ip])
    }

    /// Adds a host with several addresses, one per access that it is on. A socket binds to one of
    /// them.
    ///
    /// # Panics
    /// If there is no address, or another host has one of them.
    pub fn host_with(&mut self, name: &str, ips: &[IpAddr]) -> RuntimeHandle {
        let id = self.core.state.lock().hosts.add(name, ips);
        Arc::new(HostRuntime {
            core: self.core.clone(),
            host: id,
            seed: self.core.seed.split(name),
        })
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.core.now()
    }

    /// The network, to read what it measured or to change it between two runs.
    pub fn network(&self) -> MappedMutexGuard<'_, F> {
        MutexGuard::map(self.core.state.lock(), |s| &mut s.fabric)
    }

    /// Counts of the world so far.
    pub fn stats(&self) -> WorldStats {
        let state = self.core.state.lock();
        WorldStats {
            packets_sent: state.hosts.sent(),
            packets_unwanted: state.hosts.undelivered(),
            polls: self.polls,
        }
    }

    /// Runs `main` to its end, and with it whatever it and the hosts spawned.
    ///
    /// # Errors
    /// If a task panics, nothing is left to happen, the clock stands still, or time is up.
    pub fn run<T: Send + 'static>(
        &mut self,
        main: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, WorldError> {
        // Asked whenever nothing is ready, which is more often than a lock should be taken.
        let result = Arc::new(OnceLock::new());
        let slot = result.clone();
        self.core.inbox.spawn(
            "main",
            Box::pin(async move {
                let value = main.await;
                let _ = slot.set(Mutex::new(Some(value)));
            }),
        );
        let mut polls_here: u64 = 0;
        loop {
            match self.executor.step() {
                Step::Polled => {
                    self.polls += 1;
                    polls_here += 1;
                    if polls_here > LIVELOCK_POLLS {
                        return Err(WorldError::Livelock {
                            at: self.now(),
                            seed: self.core.seed.0,
                            polls: polls_here,
                            waiting: self.waiting(),
                        });
                    }
                }
                Step::Panicked(task, message) => {
                    let (at, seed) = (self.now(), self.core.seed.0);
                    return Err(WorldError::Panicked { task, message, at, seed });
                }
                Step::Idle => {
                    if let Some(value) = result.get().and_then(|slot| slot.lock().take()) {
                        return Ok(value);
                    }
                    let before = self.now();
                    self.advance()?;
                    if self.now() > before {
                        polls_here = 0;
                    }
                }
            }
        }
    }

    /// Moves the clock to the next event and lets everything happen that is due then.
    fn advance(&mut self) -> Result<(), WorldError> {
        let at = self.now();
        let mut state = self.core.state.lock();
        let next = [state.timers.next(), state.fabric.next_event()].into_iter().flatten().min();
        let seed = self.core.seed.0;
        let Some(next) = next else {
            drop(state);
            return Err(WorldError::Stalled { at, seed, waiting: self.waiting() });
        };
        if next > self.end {
            drop(state);
            return Err(WorldError::OutOfTime { at: self.end, seed, waiting: self.waiting() });
        }
        if self.stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed)) {
            return Err(WorldError::Stopped { at });
        }
        let now = next.max(at);
        self.core.now.store(now.as_nanos(), Ordering::Relaxed);
        let State { timers, hosts, fabric } = &mut *state;
        // Waking only queues a task: it takes no lock that is held here.
        while let Some(packet) = fabric.poll(now) {
            if let Some(waker) = hosts.deliver(now, packet) {
                waker.wake();
            }
        }
        hosts.wake_senders(|src, dst| fabric.has_room(src, dst));
        while let Some(waker) = timers.fire(now) {
            waker.wake();
        }
        Ok(())
    }

    fn waiting(&self) -> String {
        self.executor
            .pending()
            .into_iter()
            .map(|(name, n)| if n == 1 { name.to_owned() } else { format!("{name} x{n}") })
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl<F: Fabric> Drop for World<F> {
    /// Tasks hold the core and the core holds what was spawned last: without this both would stay.
    fn drop(&mut self) {
        self.executor.clear();
    }
}

impl<F: Fabric> fmt::Debug for World<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("now", &self.now()).finish_non_exhaustive()
    }
}

struct HostRuntime<F> {
    core: Arc<Core<F>>,
    host: HostId,
    seed: Seed,
}

impl<F> fmt::Debug for HostRuntime<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostRuntime({})", self.core.state.lock().hosts.name(self.host))
    }
}

impl<F: Fabric> Runtime for HostRuntime<F> {
    fn now(&self) -> Time {
        self.core.now()
    }

    fn timer(&self, at: Time) -> Box<dyn Timer> {
        let id = self.core.state.lock().timers.insert(at);
        Box::new(VirtualTimer { core: self.core.clone(), id })
    }

    fn spawn_boxed(&self, name: &'static str, task: BoxFuture<()>) {
        self.core.inbox.spawn(name, task);
    }

    fn bind_udp(&self, local: SocketAddr) -> io::Result<Box<dyn UdpSocket>> {
        let (socket, addr) = self.core.state.lock().hosts.bind(self.host, local)?;
        Ok(Box::new(VirtualSocket { core: self.core.clone(), socket, addr }))
    }

    fn seed(&self) -> Seed {
        self.seed
    }
}

struct VirtualTimer<F> {
    core: Arc<Core<F>>,
    id: TimerId,
}

impl<F> fmt::Debug for VirtualTimer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VirtualTimer({})", self.id)
    }
}

impl<F: Fabric> Timer for VirtualTimer<F> {
    fn reset(&mut self, at: Time) {
        self.core.state.lock().timers.set(self.id, at);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.core.now();
        self.core.state.lock().timers.poll(self.id, now, cx.waker())
    }

    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.core.now();
        let timers = &mut self.core.state.lock().timers;
        timers.set(self.id, at);
        timers.poll(self.id, now, cx.waker())
    }
}

impl<F> Drop for VirtualTimer<F> {
    fn drop(&mut self) {
        self.core.state.lock().timers.remove(self.id);
    }
}

struct VirtualSocket<F> {
    core: Arc<Core<F>>,
    socket: SocketId,
    addr: SocketAddr,
}

impl<F> fmt::Debug for VirtualSocket<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VirtualSocket({})", self.addr)
    }
}

impl<F: Fabric> UdpSocket for VirtualSocket<F> {
    fn poll_send(&self, _: &mut Context<'_>, datagram: &Datagram<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.try_send(datagram))
    }

    fn poll_send_ready(&self, cx: &mut Context<'_>, dst: IpAddr) -> Poll<()> {
        let State { hosts, fabric, .. } = &mut *self.core.state.lock();
        let way = (self.addr.ip(), dst);
        if fabric.has_room(way.0, way.1) {
            return Poll::Ready(());
        }
        hosts.wait_to_send(self.socket, way, cx.waker());
        Poll::Pending
    }

    fn try_send(&self, datagram: &Datagram<'_>) -> io::Result<()> {
        let now = self.core.now();
        let mut state = self.core.state.lock();
        let State { hosts, fabric, .. } = &mut *state;
        fabric.send(now, hosts.packet(now, self.addr, datagram));
        Ok(())
    }

    fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        let hosts = &mut self.core.state.lock().hosts;
        match hosts.receive(self.socket, cx.waker()) {
            Some(mut packet) => {
                let Packet { src, dst, ecn, dscp, enqueued: at, .. } = *packet;
                // The payload's only owner: nothing is copied.
                let payload = BytesMut::from(Bytes::from(mem::take(&mut packet.payload)));
                hosts.keep(packet);
                let dst_ip = dst.ip();
                Poll::Ready(Ok(Received {
                    src,
                    dst_ip,
                    at,
                    ecn,
                    dscp: Some(dscp),
                    payload,
                    joined: false,
                }))
            }
            None => Poll::Pending,
        }
    }

    fn local_addr(&self) -> SocketAddr {
        self.addr
    }
}

impl<F> Drop for VirtualSocket<F> {
    fn drop(&mut self) {
        self.core.state.lock().hosts.close(self.addr);
    }
}

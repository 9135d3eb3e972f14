//! The thread of a link: packets in, the engine, packets out, sleep.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use airlane_base::{Histogram, Time};
use airlane_net::Direction;
use rustix::event::{PollFd, PollFlags, poll};

use crate::clock::{Clock, thread_cpu, timespec};
use crate::engine::{Delivery, Engine, place};
use crate::error::LinkError;
use crate::totals::{ClientTotals, Drops, Reason, Totals, WayTotals};
use crate::wake::Bell;

/// Source and destination of packets.
pub(crate) trait Port: Send {
    /// File descriptors that become readable when packets are there.
    fn sources(&self) -> [BorrowedFd<'_>; 2];
    /// Reads packets from the sources that are ready, a batch at most, and pushes them.
    fn receive(
        &mut self,
        ready: [bool; 2],
        clock: &Clock,
        engine: &mut Engine,
        book: &mut Book,
    ) -> Result<(), LinkError>;
    /// Sends a delivery, now or with those that follow.
    fn send(&mut self, delivery: Delivery, outlet: &mut Outlet<'_>);
    /// Sends what still waits for more to follow.
    fn flush(&mut self, outlet: &mut Outlet<'_>);
    /// Does what is due at a time, apart from packets; says when something is due next.
    fn look_after(&mut self, now: Time) -> Option<Time>;
    /// Number of clients for which packets are forwarded.
    fn clients(&self) -> ClientTotals;
    /// The sockets of each direction, by the kernel's numbers of them.
    fn sockets(&self) -> [Vec<u64>; 2];
}

/// Counts of events outside the engine, in one direction.
#[derive(Debug, Default)]
struct Edge {
    delivered: (u64, u64),
    dropped: Drops,
    /// Arrived, but never came to the engine; counted in `dropped` too.
    turned_away: (u64, u64),
    lateness: Histogram,
}

/// Counts of events outside the engine, by direction.
#[derive(Debug, Default)]
pub(crate) struct Book([Edge; 2]);

impl Book {
    /// Packets that arrived, but for which there was no way.
    pub(crate) fn turn_away(&mut self, direction: Direction, packets: (u64, u64)) {
        let edge = &mut self.0[place(direction)];
        edge.turned_away = (edge.turned_away.0 + packets.0, edge.turned_away.1 + packets.1);
        edge.dropped.add(Reason::Link(airlane_base::DropReason::Unreachable), packets);
    }
}

/// Sink to which a port reports the result of each delivery.
pub(crate) struct Outlet<'a> {
    clock: &'a Clock,
    engine: &'a mut Engine,
    book: &'a mut Book,
}

impl Outlet<'_> {
    /// These were handed to the machine just now, or dropped for a reason.
    pub(crate) fn done(
        &mut self,
        deliveries: impl Iterator<Item = Delivery>,
        result: Result<(), Reason>,
    ) {
        let now = self.clock.now();
        for delivery in deliveries {
            let edge = &mut self.book.0[place(delivery.direction)];
            let bytes = u64::from(delivery.packet.ip_bytes());
            match result {
                Ok(()) => {
                    edge.delivered = (edge.delivered.0 + 1, edge.delivered.1 + bytes);
                    edge.lateness.add(now - delivery.at);
                }
                Err(reason) => edge.dropped.add(reason, (1, bytes)),
            }
            self.engine.recycle(delivery.packet);
        }
    }
}

/// Request to a link's thread.
pub(crate) enum Command {
    /// Asks for a snapshot of the totals.
    Totals(Sender<Snapshot>),
}

/// Totals as far as the link's thread knows, and the kernel's numbers of its sockets.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) totals: Totals,
    pub(crate) sockets: [Vec<u64>; 2],
}

/// A link at work.
pub(crate) struct Driver<P> {
    pub(crate) port: P,
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    pub(crate) bell: Bell,
    /// Its end stops the link.
    pub(crate) commands: Receiver<Command>,
    /// True if the thread has a real-time priority.
    pub(crate) realtime: bool,
}

impl<P: Port> Driver<P> {
    /// Works until the other end of the commands is gone.
    pub(crate) fn run(mut self) -> Result<Snapshot, LinkError> {
        let mut book = Book::default();
        let mut due = None;
        loop {
            let (rung, ready) = self.wait(due)?;
            if rung {
                self.bell.answer();
            }
            self.port.receive(ready, &self.clock, &mut self.engine, &mut book)?;
            let now = self.clock.now();
            while let Some(delivery) = self.engine.poll(now) {
                let mut outlet =
                    Outlet { clock: &self.clock, engine: &mut self.engine, book: &mut book };
                self.port.send(delivery, &mut outlet);
            }
            let mut outlet =
                Outlet { clock: &self.clock, engine: &mut self.engine, book: &mut book };
            self.port.flush(&mut outlet);
            due = self.port.look_after(now);
            if rung && !self.answer(&book, now) {
                return Ok(self.snapshot(&book, now));
            }
        }
    }

    /// Sleeps until packets come, the bell rings, the engine has an event or `due`. Says whether
    /// the bell rang and which sources are ready.
    fn wait(&self, due: Option<Time>) -> Result<(bool, [bool; 2]), LinkError> {
        let until = [self.engine.next_event(), due].into_iter().flatten().min();
        let timeout = until.map(|at| timespec(at - self.clock.now()));
        let [one, two] = self.port.sources();
        let mut fds = [
            PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(one, PollFlags::IN),
            PollFd::from_borrowed_fd(two, PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(LinkError::system("wait for packets")(e)),
        }
        // An error is found out by reading.
        let [rung, one, two] = fds.map(|fd| !fd.revents().is_empty());
        Ok((rung, [one, two]))
    }

    /// Answers the commands with what happened until `at`; false when there will be none any more.
    fn answer(&self, book: &Book, at: Time) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Totals(reply)) => {
                    // Who asked may have stopped waiting.
                    let _ = reply.send(self.snapshot(book, at));
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Totals until `at`, the time until which the engine was polled: what was due after it, on a
    /// machine that let this thread wait, is not in its counts yet.
    fn snapshot(&self, book: &Book, at: Time) -> Snapshot {
        let totals = Totals {
            at,
            up: self.way(book, Direction::Up, at),
            down: self.way(book, Direction::Down, at),
            clients: self.port.clients(),
            cpu: thread_cpu().unwrap_or_default(),
            realtime: self.realtime,
        };
        Snapshot { totals, sockets: self.port.sockets() }
    }

    fn way(&self, book: &Book, direction: Direction, at: Time) -> WayTotals {
        let edge = &book.0[place(direction)];
        let tally = self.engine.tally(direction);
        let refused = self.engine.refused(direction);
        let mut dropped = edge.dropped;
        dropped.add(Reason::Memory, refused);
        for reason in airlane_base::DropReason::ALL {
            dropped.add(Reason::Link(reason), tally.dropped[reason.index()]);
        }
        let outside = (refused.0 + edge.turned_away.0, refused.1 + edge.turned_away.1);
        WayTotals {
            received: (tally.pushed.0 + outside.0, tally.pushed.1 + outside.1),
            delivered: edge.delivered,
            dropped,
            held: tally.held,
            in_link: self.engine.in_link(direction),
            missed: 0,
            link: self.engine.link_stats(direction, at),
            lateness: edge.lateness.clone(),
        }
    }
}

//! Source and sink of a conference server's load: clients on a core of their own.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;

use super::PEOPLE;
use super::client::{Client, Tally};
use crate::bar::Problem;
use crate::bars::link::forward::pin;
use crate::clock::Watch;
use crate::process::{Running, Usage};

/// Core of the clients.
const CORE: usize = 1;
/// Time in which everybody has to receive everybody, or at least this share of them, as what a server holds back is lost in
/// the figures; and time after the measurement in which what is late has to come.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const MIN_STARTED: f64 = 0.5;
const LATE: Duration = Duration::from_secs(2);
/// Interval at which the start is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Clients of a conference server.
pub(super) struct Generator {
    /// Address of this machine that the clients have, and the server: Janus takes none of the loopback interface.
    pub(super) ip: IpAddr,
    threads: tokio::runtime::Runtime,
    runtime: RuntimeHandle,
    tally: Arc<Mutex<Tally>>,
}

/// Outcome of a time under load.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// Participants.
    pub(super) people: u32,
    /// Packets that receivers were to get, and got.
    pub(super) expected: u64,
    pub(super) received: u64,
    /// Processor time of the server, and of the clients.
    pub(super) cpu: Duration,
    pub(super) clients_cpu: Duration,
    pub(super) span: Duration,
    /// Time that packets took, ms: the median, and what 99 of 100 stay below.
    pub(super) median_ms: f64,
    pub(super) p99_ms: f64,
}

impl Outcome {
    /// Processor time of a forwarded packet, us.
    pub(super) fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.received as f64
    }

    /// Share of the packets that did not come.
    pub(super) fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.expected as f64
    }

    /// Share of its core that the server took.
    pub(super) fn load(&self) -> f64 {
        self.cpu.as_secs_f64() / self.span.as_secs_f64()
    }

    /// Share of their core that the clients took.
    pub(super) fn clients_load(&self) -> f64 {
        self.clients_cpu.as_secs_f64() / self.span.as_secs_f64()
    }
}

impl Generator {
    pub(super) fn new() -> Result<Self, Problem> {
        let broke = |e: std::io::Error| Problem::Broke(format!("clients of a call: {e}"));
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().on_thread_start(|| {
            // Where there is one core alone the server's start says so.
            let _ = pin(CORE);
        });
        let threads = builder.build().map_err(broke)?;
        let runtime = {
            let _within = threads.enter();
            TokioRuntime::new(Seed(1))
        };
        Ok(Self { ip: own_address().map_err(broke)?, threads, runtime, tally: Arc::default() })
    }

    /// A client with a number.
    pub(super) fn client(&self, number: u32) -> Result<Client, Problem> {
        let _within = self.threads.enter();
        Client::new(&self.runtime, self.ip, number, &self.tally)
    }

    /// Lets a client take part.
    pub(super) fn run(&self, client: Client) {
        let _within = self.threads.enter();
        self.runtime.spawn("client", client.run(self.runtime.clone()));
    }

    /// Waits until so many participants receive what they are to, and for the server to find its way; then measures.
    #[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
    pub(super) fn measure(
        &self,
        server: &Running,
        people: u32,
        settle: Duration,
        span: Duration,
    ) -> Result<Outcome, Problem> {
        // Each receives all others of its room.
        let receivers = PEOPLE - 1;
        let pairs = (people * receivers) as usize;
        let watch = Watch::start();
        loop {
            let found = self.tally.lock().pairs.len();
            self.fail()?;
            if found >= pairs {
                break;
            }
            if watch.elapsed() > START_TIMEOUT {
                if found as f64 >= pairs as f64 * MIN_STARTED {
                    break;
                }
                let what = format!("{found} of {pairs} pairs of participants have a stream");
                return Err(Problem::Broke(what));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        std::thread::sleep(settle);
        let (server_before, own_before) = (server.usage()?.cpu, Usage::own()?.cpu);
        let from: Time = self.runtime.now();
        self.tally.lock().window = Some((from, from + span));
        std::thread::sleep(span);
        let (cpu, clients_cpu) =
            (server.usage()?.cpu - server_before, Usage::own()?.cpu - own_before);
        std::thread::sleep(LATE);
        self.fail()?;
        let tally = self.tally.lock();
        let percentile = |share: f64| {
            airlane_quality::stats::quantile(&tally.delays_us, share).unwrap_or(f64::NAN) / 1e3
        };
        Ok(Outcome {
            people,
            expected: tally.sent * u64::from(receivers),
            received: tally.received,
            cpu,
            clients_cpu,
            span,
            median_ms: percentile(0.5),
            p99_ms: percentile(0.99),
        })
    }

    fn fail(&self) -> Result<(), Problem> {
        match &self.tally.lock().failure {
            Some(failure) => Err(Problem::Broke(format!("a client of a call: {failure}"))),
            None => Ok(()),
        }
    }
}

/// Address of this machine on its network, or of the loopback interface if it is on none. Nothing is sent.
fn own_address() -> std::io::Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // One that is set aside for examples (RFC 5737).
    match socket.connect((Ipv4Addr::new(198, 51, 100, 1), 9)) {
        Ok(()) => Ok(socket.local_addr()?.ip()),
        Err(_) => Ok(Ipv4Addr::LOCALHOST.into()),
    }
}

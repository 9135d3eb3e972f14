//! qlog: one file per connection and side, written from what the congestion controller hears.
//!
//! The format is qlog 0.3 as text sequences (draft-ietf-quic-qlog-main-schema-02, section 6.2;
//! RFC 7464), the version that viewers such as qvis read; events are those of
//! draft-ietf-quic-qlog-quic-events-02 and a few of our own, named `airlane:`. What is in it and
//! what is not: `docs/design/quic.md`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::{Controller, Rtt};
use noq_proto::{ConnectionId, Side};
use serde::Serialize;

/// Folder for the log of a connection, and the contents of the log's head.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) dir: PathBuf,
    pub(crate) side: Side,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// The destination of the client's first packet: the name that both sides know the
    /// connection by. Seeded ids repeat, so the same world writes the same names.
    pub(crate) original_id: ConnectionId,
}

impl Target {
    /// Begins the log. A file that cannot be written costs a warning and the log, nothing more.
    pub(crate) fn open(&self, now: Time, controller: &dyn Controller) -> Option<Qlog> {
        let side = if self.side.is_client() { "client" } else { "server" };
        let path = self.dir.join(format!("{}-{side}.sqlog", self.original_id));
        let file = match create(&path) {
            Ok(file) => file,
            Err(e) => {
                warn(&path, &e);
                return None;
            }
        };
        let mut log = Qlog {
            out: Some(BufWriter::new(file)),
            path,
            last: Metrics::default(),
            acked: Vec::new(),
            recovery: Recovery::default(),
        };
        let original_id = self.original_id.to_string();
        log.record(&Head {
            qlog_version: "0.3",
            qlog_format: "JSON-SEQ",
            title: &format!("airlane {side}"),
            description: &format!(
                "{side} of a connection with {}, sending under {}",
                self.remote,
                controller.name()
            ),
            trace: Trace {
                vantage_point: VantagePoint { name: "airlane", r#type: side },
                common_fields: CommonFields {
                    odcid: &original_id,
                    group_id: &original_id,
                    protocol_type: ["QUIC", "HTTP3"],
                    time_format: "relative",
                    reference_time: 0,
                },
            },
        });
        let started = ConnectionStarted {
            ip_version: if self.remote.is_ipv4() { "v4" } else { "v6" },
            src_ip: self.local.ip(),
            dst_ip: self.remote.ip(),
            protocol: "QUIC",
            src_port: self.local.port(),
            dst_port: self.remote.port(),
        };
        log.event(now, "connectivity:connection_started", &started);
        Some(log)
    }
}

/// The log of one connection.
#[derive(Debug)]
pub(crate) struct Qlog {
    /// `None` after an error.
    out: Option<BufWriter<File>>,
    path: PathBuf,
    /// Metrics written last.
    last: Metrics,
    /// Packets that the acknowledgement being read covers.
    acked: Vec<u64>,
    recovery: Recovery,
}

impl Qlog {
    pub(crate) fn on_sent(&mut self, now: Time, pn: u64, bytes: u64) {
        let data = PacketSent { header: header(pn), raw: Raw { length: bytes } };
        self.event(now, "transport:packet_sent", &data);
    }

    pub(crate) fn on_acked(&mut self, pn: u64, sent_at: Time) {
        self.acked.push(pn);
        self.recovery.on_acked(sent_at);
    }

    pub(crate) fn on_ack_end(&mut self, now: Time) {
        if self.acked.is_empty() {
            return;
        }
        let acked = std::mem::take(&mut self.acked);
        let data = PacketsAcked { packet_number_space: "application_data", packet_numbers: &acked };
        self.event(now, "transport:packets_acked", &data);
        // The allocation is worth keeping.
        self.acked = acked;
        self.acked.clear();
    }

    pub(crate) fn on_lost(&mut self, now: Time, pn: u64, sent_at: Time) {
        self.recovery.on_lost(now, sent_at);
        self.event(now, "recovery:packet_lost", &PacketLost { header: header(pn) });
    }

    pub(crate) fn on_persistent_congestion(&mut self) {
        self.recovery = Recovery { since: None, persistent: true };
    }

    pub(crate) fn on_spurious(&mut self, now: Time) {
        self.recovery = Recovery::default();
        self.event(now, "airlane:losses_spurious", &Empty {});
    }

    pub(crate) fn on_marked(&mut self, now: Time) {
        self.event(now, "airlane:congestion_marked", &Empty {});
    }

    /// Someone set a weight or an explicit rate.
    pub(crate) fn on_signal_change(&mut self, now: Time, weight: Option<f64>, rate: Option<Rate>) {
        let data = WeightUpdated { weight, rate: rate.map(Rate::bps) };
        self.event(now, "airlane:weight_updated", &data);
    }

    /// Writes what changed up to `at`. The events of one instant are settled together, when time
    /// moves on: what lies between them is nobody's state.
    pub(crate) fn settle(
        &mut self,
        at: Time,
        controller: &dyn Controller,
        in_flight: u64,
        rtt: Option<Rtt>,
    ) {
        let state = self.recovery.state(controller);
        let persistent = std::mem::take(&mut self.recovery.persistent);
        let old = self.last.state.replace(state);
        if old != Some(state) || persistent {
            let trigger = persistent.then_some("persistent_congestion");
            let data = CongestionStateUpdated { old, new: state, trigger };
            self.event(at, "recovery:congestion_state_updated", &data);
        }
        let new = Metrics {
            state: Some(state),
            min_rtt: rtt.map(|r| millis(r.min)),
            smoothed_rtt: rtt.map(|r| millis(r.smoothed)),
            latest_rtt: rtt.map(|r| millis(r.latest)),
            congestion_window: Some(controller.window()),
            bytes_in_flight: Some(in_flight),
            ssthresh: controller.ssthresh(),
            pacing_rate: controller.pacing_rate().map(Rate::bps),
        };
        let changes = new.since(&self.last);
        self.last = new;
        if changes != Metrics::default() {
            self.event(at, "recovery:metrics_updated", &changes);
        }
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) {
        if let Some(Err(e)) = self.out.as_mut().map(Write::flush) {
            self.fail(&e);
        }
    }

    fn event<T: Serialize>(&mut self, at: Time, name: &'static str, data: &T) {
        self.record(&Event { time: millis(at.since_start()), name, data });
    }

    fn record<T: Serialize>(&mut self, record: &T) {
        let Some(out) = &mut self.out else { return };
        let written = out
            .write_all(b"\x1e")
            .and_then(|()| serde_json::to_writer(&mut *out, record).map_err(io::Error::from))
            .and_then(|()| out.write_all(b"\n"));
        if let Err(e) = written {
            self.fail(&e);
        }
    }

    /// Warns, and writes no more: a connection does not fail because a disk is full.
    fn fail(&mut self, e: &io::Error) {
        warn(&self.path, e);
        if let Some(out) = self.out.take() {
            // Without writing what is left.
            drop(out.into_parts());
        }
    }
}

impl Drop for Qlog {
    fn drop(&mut self) {
        self.flush();
    }
}

/// A new file that its owner and group alone may read: it has addresses of clients.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    options.open(path)
}

fn warn(path: &Path, e: &io::Error) {
    tracing::warn!("no qlog (any more) in {}: {e}", path.display());
}

/// Loss recovery as RFC 9002 defines it (section 7.3.2), whatever the controller makes of it.
#[derive(Debug, Default)]
struct Recovery {
    since: Option<Time>,
    /// Persistent congestion was found since the last state was written.
    persistent: bool,
}

impl Recovery {
    fn on_lost(&mut self, now: Time, sent_at: Time) {
        if self.since.is_none_or(|since| sent_at > since) {
            self.since = Some(now);
        }
    }

    fn on_acked(&mut self, sent_at: Time) {
        if self.since.is_some_and(|since| sent_at > since) {
            self.since = None;
        }
    }

    fn state(&self, controller: &dyn Controller) -> &'static str {
        match controller.ssthresh() {
            _ if self.since.is_some() => "recovery",
            Some(threshold) if controller.window() < threshold => "slow_start",
            Some(_) => "congestion_avoidance",
            // Before the first loss, or the controller has no threshold at all.
            None => "open",
        }
    }
}

/// Milliseconds, cut to the microsecond.
fn millis(d: Duration) -> f64 {
    d.as_micros() as f64 / 1e3
}

#[derive(Serialize)]
struct Head<'a> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    description: &'a str,
    trace: Trace<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    vantage_point: VantagePoint,
    common_fields: CommonFields<'a>,
}

#[derive(Serialize)]
struct VantagePoint {
    name: &'static str,
    r#type: &'static str,
}

#[derive(Serialize)]
struct CommonFields<'a> {
    #[serde(rename = "ODCID")]
    odcid: &'a str,
    group_id: &'a str,
    protocol_type: [&'static str; 2],
    time_format: &'static str,
    /// Milliseconds. The start of the world is zero: it has no date.
    reference_time: u64,
}

#[derive(Serialize)]
struct Event<'a, T> {
    time: f64,
    name: &'static str,
    data: &'a T,
}

#[derive(Serialize)]
struct ConnectionStarted {
    ip_version: &'static str,
    src_ip: IpAddr,
    dst_ip: IpAddr,
    protocol: &'static str,
    src_port: u16,
    dst_port: u16,
}

#[derive(Serialize)]
struct Header {
    packet_type: &'static str,
    packet_number: u64,
}

fn header(packet_number: u64) -> Header {
    Header { packet_type: "1RTT", packet_number }
}

#[derive(Serialize)]
struct Raw {
    length: u64,
}

#[derive(Serialize)]
struct PacketSent {
    header: Header,
    raw: Raw,
}

#[derive(Serialize)]
struct PacketsAcked<'a> {
    packet_number_space: &'static str,
    packet_numbers: &'a [u64],
}

#[derive(Serialize)]
struct PacketLost {
    header: Header,
}

#[derive(Serialize)]
struct CongestionStateUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'static str>,
    new: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'static str>,
}

/// The metrics of an instant, or those of them that changed.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Metrics {
    /// Written as an event of its own.
    #[serde(skip)]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
    /// Bits per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing_rate: Option<u64>,
}

impl Metrics {
    /// Metrics that differ from those in `old`.
    fn since(&self, old: &Self) -> Self {
        fn changed<T: Copy + PartialEq>(new: Option<T>, old: Option<T>) -> Option<T> {
            new.filter(|_| new != old)
        }
        Self {
            state: None,
            min_rtt: changed(self.min_rtt, old.min_rtt),
            smoothed_rtt: changed(self.smoothed_rtt, old.smoothed_rtt),
            latest_rtt: changed(self.latest_rtt, old.latest_rtt),
            congestion_window: changed(self.congestion_window, old.congestion_window),
            bytes_in_flight: changed(self.bytes_in_flight, old.bytes_in_flight),
            ssthresh: changed(self.ssthresh, old.ssthresh),
            pacing_rate: changed(self.pacing_rate, old.pacing_rate),
        }
    }
}

/// Request of the application: a weight, or the rate of an explicit controller in bits per
/// second.
#[derive(Serialize)]
struct WeightUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<u64>,
}

#[derive(Serialize)]
struct Empty {}

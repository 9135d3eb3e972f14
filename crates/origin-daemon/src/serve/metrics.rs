//! The server's figures for Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use airlane_origin::{Carrier, ClientConnection, Responded};
use airlane_runtime::RuntimeHandle;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry as Page;

use super::registry::{Points, Registry};
use super::session_view::SessionView;
use airlane_host::prometheus::{self, real, whole};

const CARRIERS: [Carrier; 3] = [Carrier::Http1, Carrier::Http2, Carrier::Http3];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCarrier {
    carrier: &'static str,
}

impl From<Carrier> for OfCarrier {
    fn from(carrier: Carrier) -> Self {
        Self { carrier: carrier.name() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    carrier: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRegime {
    regime: &'static str,
    arm: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQuantile {
    quantile: &'static str,
}

/// Counters and gauges since the server started. No lock that requests could wait for is held for
/// more than an addition.
#[derive(Debug)]
pub(super) struct Metrics {
    page: Page,
    open: Family<OfCarrier, Gauge>,
    connections: Family<OfCarrier, Counter>,
    bytes: Family<OfCarrier, Counter>,
    responses: Family<OfStatus, Counter>,
    cut_short: Counter,
    reports: Counter,
    updates: Counter,
    updating: Counter<f64, AtomicU64>,
}

/// Values that are read when somebody asks for the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct GaugeReadings {
    pub(super) titles: usize,
    /// Handshakes under way over QUIC.
    pub(super) handshakes: usize,
    /// Sessions that began so far.
    pub(super) begun: u64,
    /// Lines of the access log that were lost.
    pub(super) lost_lines: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            page: Page::default(),
            open: Family::default(),
            connections: Family::default(),
            bytes: Family::default(),
            responses: Family::default(),
            cut_short: Counter::default(),
            reports: Counter::default(),
            updates: Counter::default(),
            updating: Counter::default(),
        };
        for carrier in CARRIERS {
            // Shown before there is one.
            metrics.open.get_or_create(&carrier.into()).set(0);
            metrics.connections.get_or_create(&carrier.into()).inc_by(0);
            metrics.bytes.get_or_create(&carrier.into()).inc_by(0);
        }
        metrics.registered()
    }
}

impl Metrics {
    fn registered(mut self) -> Self {
        let page = &mut self.page;
        page.register("airlane_connections_open", "Connections that are open", self.open.clone());
        page.register("airlane_connections", "Connections that came", self.connections.clone());
        page.register("airlane_bytes", "Bytes of bodies handed over", self.bytes.clone());
        page.register("airlane_responses", "Answers, by status", self.responses.clone());
        page.register(
            "airlane_responses_cut_short",
            "Answers that were not whole",
            self.cut_short.clone(),
        );
        page.register("airlane_reports", "Reports that players posted", self.reports.clone());
        page.register("airlane_weight_updates", "Weights that were set", self.updates.clone());
        page.register(
            "airlane_weight_update_seconds",
            "Time that setting weights took, and looking whether to",
            self.updating.clone(),
        );
        self
    }

    pub(super) fn on_connected(&self, client: &ClientConnection) {
        self.connections.get_or_create(&client.carrier.into()).inc();
        self.open.get_or_create(&client.carrier.into()).inc();
    }

    pub(super) fn on_disconnected(&self, client: &ClientConnection) {
        self.open.get_or_create(&client.carrier.into()).dec();
    }

    pub(super) fn on_responded(&self, client: &ClientConnection, responded: &Responded<'_>) {
        let status = responded.status.as_u16();
        self.responses.get_or_create(&OfStatus { carrier: client.carrier.name(), status }).inc();
        self.bytes.get_or_create(&client.carrier.into()).inc_by(responded.bytes);
        self.cut_short.inc_by(u64::from(!responded.whole));
    }

    pub(super) fn on_reported(&self) {
        self.reports.inc();
    }

    pub(super) fn on_weight_set(&self) {
        self.updates.inc();
    }

    pub(super) fn on_weights_updated(&self, took: Duration) {
        self.updating.inc_by(took.as_secs_f64());
    }

    /// Everything, as one page.
    pub(super) async fn text(
        &self,
        runtime: &RuntimeHandle,
        registry: &Registry,
        now: GaugeReadings,
    ) -> String {
        let mut page = Page::default();
        page.register(
            "airlane_uptime_seconds",
            "Time since the server started",
            real(runtime.now().as_secs_f64()),
        );
        page.register("airlane_titles", "Titles that are served", whole(now.titles as u64));
        page.register(
            "airlane_handshakes",
            "Handshakes under way over QUIC",
            whole(now.handshakes as u64),
        );
        // No counter, since the family of a counter of this name would be that of the gauge below.
        let begun = whole(now.begun);
        page.register("airlane_sessions_total", "Playback sessions that began", begun);
        let lost = Counter::<u64>::default();
        lost.inc_by(now.lost_lines as u64);
        let about = "Lines of the access log that were lost, since too many waited for the disk";
        page.register("airlane_access_log_lost_lines", about, lost);
        let mut figures = Figures::default();
        registry.view_all(runtime, Points::NONE, |view| figures.add(&view)).await;
        figures.register(&mut page);
        prometheus::text(&[&self.page, &page])
    }
}

/// The figures of all sessions.
#[derive(Debug, Default)]
struct Figures {
    /// By regime: under Minerva, plain, plain for comparison, unmanaged.
    sessions: [i64; 4],
    values: [Vec<f64>; SERIES.len()],
}

/// A figure of a session.
type Figure = fn(&SessionView) -> Option<f64>;

const SERIES: [(&str, &str, Figure); 5] = [
    ("airlane_session_weight", "Weights, in plain connections", |v| v.weight),
    ("airlane_session_rate_bits_per_second", "Rates", |v| v.rate_bps),
    ("airlane_session_buffer_seconds", "Players' buffers", |v| v.buffer_s),
    ("airlane_session_quality", "Quality of the last chunks", |v| v.quality),
    ("airlane_session_qoe", "Mean QoE", |v| v.qoe),
];

const REGIMES: [(&str, &str); 4] =
    [("minerva", ""), ("plain", ""), ("plain", "cubic"), ("unmanaged", "")];

impl Figures {
    fn add(&mut self, view: &SessionView) {
        let arm = view.arm.filter(|arm| *arm == "cubic").unwrap_or_default();
        if let Some(kind) = REGIMES.iter().position(|kind| *kind == (view.regime, arm)) {
            self.sessions[kind] += 1;
        }
        for ((.., of), values) in SERIES.iter().zip(&mut self.values) {
            values.extend(of(view));
        }
    }

    fn register(self, page: &mut Page) {
        let sessions = Family::<OfRegime, Gauge>::default();
        for ((regime, arm), n) in REGIMES.into_iter().zip(self.sessions) {
            sessions.get_or_create(&OfRegime { regime, arm }).set(n);
        }
        page.register("airlane_sessions", "Playback sessions, by how they are weighed", sessions);
        // One line per session would grow without bound: quantiles tell as much.
        for ((name, help, _), mut values) in SERIES.into_iter().zip(self.values) {
            values.sort_by(f64::total_cmp);
            let quantiles = Family::<OfQuantile, Gauge<f64, AtomicU64>>::default();
            let marks = [(0.0, "0"), (0.1, "0.1"), (0.5, "0.5"), (0.9, "0.9"), (1.0, "1")];
            for (q, quantile) in marks {
                if let Some(last) = values.len().checked_sub(1) {
                    let value = values[(q * last as f64).round() as usize];
                    quantiles.get_or_create(&OfQuantile { quantile }).set(value);
                }
            }
            page.register(name, format!("{help}: quantiles over the sessions"), quantiles);
        }
    }
}

//! The figures for Prometheus.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::TunnelStatus;
use airlane_host::prometheus::{self, real, whole};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSubflow {
    line: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfClient {
    client: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

/// Everything, as one page.
pub(crate) fn page(status: &TunnelStatus) -> String {
    let mut page = Registry::default();
    let up = real(status.uptime_s);
    page.register("airlane_tunnel_uptime_seconds", "Time since it started", up);
    let open = whole(status.streams as u64);
    page.register("airlane_tunnel_streams", "Connections and associations that are open", open);
    let sockets = whole(status.target_sockets as u64);
    page.register(
        "airlane_tunnel_target_sockets",
        "Sockets to targets, open or connecting",
        sockets,
    );
    let counters: [(&str, &str, u64); 8] = [
        ("connections", "Connections and associations", status.connections_total),
        ("refused", "Those that were refused or did not reach their target", status.refused_total),
        ("into_bytes", "Bytes of connections into the tunnel at this end", status.into_bytes),
        ("out_bytes", "Bytes of connections out of the tunnel at this end", status.out_bytes),
        ("datagrams_into", "Datagrams into the tunnel at this end", status.datagrams_into),
        ("datagrams_out", "Datagrams out of the tunnel at this end", status.datagrams_out),
        ("datagrams_dropped", "Datagrams that were late or too many", status.datagrams_dropped),
        (
            "datagrams_refused",
            "Datagrams that were not allowed or not asked for",
            status.datagrams_refused,
        ),
    ];
    for (name, help, value) in counters {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        page.register(format!("airlane_tunnel_{name}"), help, counter);
    }
    subflows(&mut page, status);
    clients(&mut page, status);
    let warnings = Family::<OfKind, Counter>::default();
    for (kind, total) in &status.warnings {
        warnings.get_or_create(&OfKind { kind }).inc_by(*total);
    }
    page.register("airlane_tunnel_warnings", "Warnings, logged or withheld", warnings);
    prometheus::text(&[&page])
}

/// The figures of each client of a serving end. Their number is that of its list.
fn clients(page: &mut Registry, status: &TunnelStatus) {
    let (subflows, streams) =
        (Family::<OfClient, Gauge>::default(), Family::<OfClient, Gauge>::default());
    let begun = Family::<OfClient, Counter>::default();
    for of in &status.clients {
        let client = OfClient { client: of.name.clone() };
        subflows.get_or_create(&client).set(of.subflows as i64);
        streams.get_or_create(&client).set(of.streams as i64);
        begun.get_or_create(&client).inc_by(of.connections_total);
    }
    page.register("airlane_tunnel_client_lines", "Subflows of a client", subflows);
    page.register("airlane_tunnel_client_streams", "Open connections of a client", streams);
    page.register("airlane_tunnel_client_connections", "Connections of a client", begun);
}

/// The figures of each subflow. Their number is bounded by that of interfaces or of sessions with theirs.
fn subflows(page: &mut Registry, status: &TunnelStatus) {
    type Gauges = Family<OfSubflow, Gauge<f64, AtomicU64>>;
    let (up, rtt) = (Family::<OfSubflow, Gauge>::default(), Gauges::default());
    let (cap, used) = (Gauges::default(), Gauges::default());
    let (sent, received) =
        (Family::<OfSubflow, Counter>::default(), Family::<OfSubflow, Counter>::default());
    for subflow in &status.subflows {
        let name = OfSubflow { line: subflow.name.replace(['\\', '"', '\n'], "_") };
        let is_up = matches!(subflow.state, "up" | "silent");
        up.get_or_create(&name).set(i64::from(is_up));
        sent.get_or_create(&name).inc_by(subflow.sent_bytes);
        received.get_or_create(&name).inc_by(subflow.received_bytes);
        if let Some(rtt_s) = subflow.rtt_s {
            rtt.get_or_create(&name).set(rtt_s);
        }
        if let Some(of) = &subflow.cap {
            cap.get_or_create(&name).set(of.bytes as f64);
            used.get_or_create(&name).set(of.used_bytes as f64);
        }
    }
    page.register("airlane_tunnel_line_up", "Whether the subflow is there", up);
    page.register("airlane_tunnel_line_sent_bytes", "Bytes sent on the subflow", sent);
    page.register("airlane_tunnel_line_received_bytes", "Bytes received on it", received);
    page.register("airlane_tunnel_line_rtt_seconds", "The last round trip", rtt);
    let may = "Bytes that the interface may carry in its period";
    page.register("airlane_tunnel_line_cap_bytes", may, cap);
    page.register("airlane_tunnel_line_cap_used_bytes", "Bytes used of these", used);
}

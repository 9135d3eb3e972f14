//! The figures for Prometheus.

use super::TunnelStatus;
use crate::prometheus::Page;

/// Everything, as one page.
pub(super) fn page(status: &TunnelStatus) -> String {
    let mut page = Page::default();
    let singles: [(&str, &str, &str, f64); 10] = [
        ("airlane_tunnel_uptime_seconds", "gauge", "Time since it started.", status.uptime_s),
        (
            "airlane_tunnel_streams",
            "gauge",
            "Connections and associations that are open.",
            status.streams as f64,
        ),
        (
            "airlane_tunnel_connections_total",
            "counter",
            "Connections and associations.",
            status.connections_total as f64,
        ),
        (
            "airlane_tunnel_refused_total",
            "counter",
            "Those that were refused or did not reach their target.",
            status.refused_total as f64,
        ),
        (
            "airlane_tunnel_into_bytes_total",
            "counter",
            "Bytes of connections into the tunnel at this end.",
            status.into_bytes as f64,
        ),
        (
            "airlane_tunnel_out_bytes_total",
            "counter",
            "Bytes of connections out of the tunnel at this end.",
            status.out_bytes as f64,
        ),
        (
            "airlane_tunnel_datagrams_into_total",
            "counter",
            "Datagrams into the tunnel at this end.",
            status.datagrams_into as f64,
        ),
        (
            "airlane_tunnel_datagrams_out_total",
            "counter",
            "Datagrams out of the tunnel at this end.",
            status.datagrams_out as f64,
        ),
        (
            "airlane_tunnel_datagrams_dropped_total",
            "counter",
            "Datagrams that were late or too many.",
            status.datagrams_dropped as f64,
        ),
        (
            "airlane_tunnel_datagrams_refused_total",
            "counter",
            "Datagrams that were not allowed or not asked for.",
            status.datagrams_refused as f64,
        ),
    ];
    for (name, kind, help, value) in singles {
        page.about(name, kind, help);
        page.line(name, "", value);
    }
    // Their number is bounded by that of radios or of trunks with theirs.
    let name = |of: &str| format!("line=\"{}\"", of.replace(['\\', '"', '\n'], "_"));
    page.about("airlane_tunnel_line_up", "gauge", "Whether the line is there.");
    for line in &status.lines {
        page.line(
            "airlane_tunnel_line_up",
            &name(&line.name),
            u8::from(matches!(line.state, "up" | "silent")),
        );
    }
    page.about("airlane_tunnel_line_sent_bytes_total", "counter", "Bytes sent on the line.");
    for line in &status.lines {
        page.line("airlane_tunnel_line_sent_bytes_total", &name(&line.name), line.sent_bytes);
    }
    page.about("airlane_tunnel_line_received_bytes_total", "counter", "Bytes received on it.");
    for line in &status.lines {
        page.line(
            "airlane_tunnel_line_received_bytes_total",
            &name(&line.name),
            line.received_bytes,
        );
    }
    page.about("airlane_tunnel_line_rtt_seconds", "gauge", "The last round trip.");
    for line in &status.lines {
        if let Some(rtt) = line.rtt_s {
            page.line("airlane_tunnel_line_rtt_seconds", &name(&line.name), rtt);
        }
    }
    let metered = || status.lines.iter().filter_map(|line| Some((line, line.cap.as_ref()?)));
    if metered().next().is_some() {
        let help = "Bytes that the line may carry in its period.";
        page.about("airlane_tunnel_line_cap_bytes", "gauge", help);
        for (line, cap) in metered() {
            page.line("airlane_tunnel_line_cap_bytes", &name(&line.name), cap.bytes);
        }
        page.about("airlane_tunnel_line_cap_used_bytes", "gauge", "Bytes used of these.");
        for (line, cap) in metered() {
            page.line("airlane_tunnel_line_cap_used_bytes", &name(&line.name), cap.used_bytes);
        }
    }
    page.about("airlane_tunnel_warnings_total", "counter", "Warnings, logged or withheld.");
    for (kind, total) in &status.warnings {
        page.line("airlane_tunnel_warnings_total", &format!("kind=\"{kind}\""), total);
    }
    page.finish()
}

//! The server's figures in the text format of Prometheus.

use std::collections::BTreeMap;

use airlane_apps::vod::Carrier;
use airlane_apps::vod::sessions::Sessions;
use airlane_base::Time;

use super::registry::{Query, Registry};
use super::session_view::SessionView;
use crate::prometheus::Page;

const CARRIERS: [Carrier; 3] = [Carrier::Http1, Carrier::Http2, Carrier::Http3];

/// A figure of a session.
type Figure = fn(&SessionView) -> Option<f64>;

/// Everything, as one page.
pub(super) fn page(
    registry: &Registry,
    sessions: &Sessions,
    now: Time,
    (titles, handshakes): (usize, usize),
) -> String {
    let mut page = Page::default();
    let totals = &registry.totals;
    page.about("airlane_uptime_seconds", "gauge", "Time since the server started.");
    page.line("airlane_uptime_seconds", "", now.as_secs_f64());
    page.about("airlane_titles", "gauge", "Titles that are served.");
    page.line("airlane_titles", "", titles);
    let by_carrier =
        |page: &mut Page, name: &str, kind: &str, help: &str, of: &dyn Fn(Carrier) -> u64| {
            page.about(name, kind, help);
            for carrier in CARRIERS {
                page.line(name, &format!("carrier=\"{}\"", carrier.name()), of(carrier));
            }
        };
    by_carrier(
        &mut page,
        "airlane_connections_open",
        "gauge",
        "Connections that are open.",
        &|c| registry.open(c) as u64,
    );
    page.about("airlane_handshakes", "gauge", "Handshakes under way over QUIC.");
    page.line("airlane_handshakes", "", handshakes);
    let of = |map: &BTreeMap<Carrier, u64>, c: Carrier| map.get(&c).copied().unwrap_or(0);
    by_carrier(&mut page, "airlane_connections_total", "counter", "Connections that came.", &|c| {
        of(&totals.connections, c)
    });
    by_carrier(&mut page, "airlane_bytes_total", "counter", "Bytes of bodies handed over.", &|c| {
        of(&totals.bytes, c)
    });
    page.about("airlane_responses_total", "counter", "Answers, by status.");
    for ((carrier, status), n) in &totals.responses {
        let label = format!("carrier=\"{}\",status=\"{status}\"", carrier.name());
        page.line("airlane_responses_total", &label, n);
    }
    page.about("airlane_responses_cut_short_total", "counter", "Answers that were not whole.");
    page.line("airlane_responses_cut_short_total", "", totals.cut_short);
    page.about("airlane_sessions_total", "counter", "Playback sessions that began.");
    page.line("airlane_sessions_total", "", sessions.begun());
    page.about("airlane_reports_total", "counter", "Reports that players posted.");
    page.line("airlane_reports_total", "", totals.reports);
    page.about("airlane_weight_updates_total", "counter", "Weights that were set.");
    page.line("airlane_weight_updates_total", "", totals.updates);
    page.about(
        "airlane_weight_update_seconds_total",
        "counter",
        "Time that setting weights took, and looking whether to.",
    );
    page.line("airlane_weight_update_seconds_total", "", totals.updating.as_secs_f64());
    page.about("airlane_sessions", "gauge", "Playback sessions, by how they are weighed.");
    let views =
        registry.views(now, sessions, Query { id: None, since_s: f64::INFINITY, split: true });
    let kinds = [("minerva", None), ("plain", None), ("plain", Some("cubic")), ("unmanaged", None)];
    for (regime, arm) in kinds {
        let arm_of = |v: &SessionView| v.arm.filter(|a| *a == "cubic");
        let n = views.iter().filter(|v| v.regime == regime && arm_of(v) == arm).count();
        let label = format!("regime=\"{regime}\",arm=\"{}\"", arm.unwrap_or(""));
        page.line("airlane_sessions", &label, n);
    }
    // One line per session would grow without bound: quantiles tell as much.
    let series: [(&str, &str, Figure); 5] = [
        ("airlane_session_weight", "Weights, in plain connections.", |v| v.weight),
        ("airlane_session_rate_bits_per_second", "Rates.", |v| v.rate_bps),
        ("airlane_session_buffer_seconds", "Players' buffers.", |v| v.buffer_s),
        ("airlane_session_quality", "Quality of the last chunks.", |v| v.quality),
        ("airlane_session_qoe", "Mean QoE.", |v| v.qoe),
    ];
    for (name, help, of) in series {
        page.about(name, "gauge", &format!("{help} Quantiles over the sessions."));
        let mut values: Vec<f64> = views.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        for q in [0.0, 0.1, 0.5, 0.9, 1.0] {
            if let Some(last) = values.len().checked_sub(1) {
                let value = values[(q * last as f64).round() as usize];
                page.line(name, &format!("quantile=\"{q}\""), value);
            }
        }
    }
    page.finish()
}

//! Pages for Prometheus, in the text format of OpenMetrics.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The media type of a page.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A number of things that was looked up.
pub fn whole(value: u64) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    gauge
}

/// Any other figure that was looked up.
pub fn real(value: f64) -> Gauge<f64, AtomicU64> {
    let gauge = Gauge::default();
    gauge.set(value);
    gauge
}

/// The page of all that is registered.
pub fn text(registries: &[&Registry]) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    for registry in registries {
        let _ = encode_registry(&mut page, registry);
    }
    let _ = encode_eof(&mut page);
    page
}

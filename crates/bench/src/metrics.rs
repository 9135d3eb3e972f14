//! A server's metrics, as its listener for operators has them.

use airlane_http_client::{Client, Url};

use crate::bar::Problem;

/// The most bytes that are read of them.
const MAX_BYTES: usize = 64 << 20;

/// The page `/metrics`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics(String);

impl Metrics {
    /// Those of the server whose listener for operators is at `admin`, `http://ADDR:PORT`.
    pub(crate) async fn read(client: &Client, admin: &str) -> Result<Self, Problem> {
        let broke = |e: &dyn std::fmt::Display| Problem::Broke(format!("/metrics: {e}"));
        let at = Url::parse(&format!("{admin}/metrics")).map_err(|e| broke(&e))?;
        let (page, _) = client.get_all(&at, None, MAX_BYTES).await.map_err(|e| broke(&e))?;
        Ok(Self(String::from_utf8(page).map_err(|e| broke(&e))?))
    }

    /// The sum of a metric over all of its labels.
    pub(crate) fn sum(&self, name: &str) -> Result<f64, Problem> {
        self.of(name, "").ok_or_else(|| Problem::Broke(format!("/metrics does not tell {name}")))
    }

    /// The sum of a metric where its labels contain `label`; `None` if it is not there.
    pub(crate) fn of(&self, name: &str, label: &str) -> Option<f64> {
        let of = |line: &str| -> Option<f64> {
            let rest = line.strip_prefix(name)?;
            let is_asked_for = rest.starts_with(['{', ' ']) && rest.contains(label);
            is_asked_for.then(|| rest.rsplit(' ').next()?.parse().ok())?
        };
        self.0.lines().filter_map(of).reduce(|sum, value| sum + value)
    }
}

//! The account of airtime: who used the air, and how long, by the one definition of airtime
//! ([`airlane_wifi::PlannedExchange`]): an attempt costs `[RTS CTS] PPDU [response]` and what contending for
//! the air costs.

mod association;
mod attempt;
mod attempts;
mod flows;
mod ledger;
mod series;
mod usage;

pub use attempt::{Airtime, Attempt};
pub use ledger::{Account, AirSeries, AirSummary, Options};
pub use series::Series;
pub use usage::{StationUse, Use};

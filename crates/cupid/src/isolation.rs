//! Detector of access points that divide the air among stations by themselves.
//!
//! Behind most access points a station that is sent more has more of the air. One that counts airtime gives each
//! station that has something waiting the same, whatever is sent: while the air is full, stations with full aggregates
//! and stations with half-empty ones then hold it for the same time. That is how it is told. There an equal charge is
//! nothing that a rate could bring about, and air that is left idle is left to nobody.

use airlane_base::Rate;

/// Utilisation from which on the air is taken for full: a saturated channel reads 1.00 within 0.03.
pub const FULL: f64 = 0.95;

/// A station's use of the air, over the time that its delta is measured over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationAir {
    /// Share of the air that it is charged with, as frames were sent.
    pub share: f64,
    /// Share that max-min fairness leaves to it of the air that is in use.
    pub equal: f64,
    /// Part of its charge that is for data that goes down.
    pub down: f64,
    /// Part of the charge of all stations that is for data that goes down.
    pub down_of_all: f64,
    /// The share of the air in use, as frames were sent.
    pub utilisation: f64,
    /// Its charge if its aggregates were full, as a part of what it is charged.
    pub fill: f64,
    /// Charge of all stations if their aggregates were full, as a part of what they are charged.
    pub fill_of_all: f64,
    /// Payload rate that the whole air would carry for it in full aggregates.
    pub full_delta: Rate,
}

/// Reports over which what is found is averaged.
const REPORTS: u32 = 10;
/// A share within this factor of the equal one is equal, and beyond [`UNEQUAL`] it no longer is.
const EQUAL: f64 = 1.15;
const UNEQUAL: f64 = 1.35;
/// A fill beyond this factor of that of all is another one.
const UNLIKE: f64 = 1.15;
/// Utilisation below which the air is not full any more: shares say nothing.
const IDLE: f64 = 0.85;

/// Findings about an access point, from one station's reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Isolation {
    reports: u32,
    /// Means of utilisation, and of logarithms: of share over equal share, as it is and of what goes down
    /// alone, and of fill over that of all.
    utilisation: f64,
    share: f64,
    share_down: f64,
    fill: f64,
    is_isolated: bool,
}

impl Isolation {
    /// Takes a report. Returns whether the access point divides the air by itself.
    pub fn update(&mut self, air: &StationAir) -> bool {
        let log = |a: f64, b: f64| if a > 0.0 && b > 0.0 { (a / b).ln() } else { 0.0 };
        self.reports = (self.reports + 1).min(REPORTS);
        let gain = 1.0 / f64::from(self.reports);
        let mean = |of: &mut f64, value: f64| *of += gain * (value - *of);
        mean(&mut self.utilisation, air.utilisation);
        mean(&mut self.share, log(air.share, air.equal));
        mean(&mut self.share_down, log(air.share * air.down, air.equal * air.down_of_all));
        mean(&mut self.fill, log(air.fill, air.fill_of_all));
        // Some access points count what they send, others what they hear as well.
        let off = self.share.abs().min(self.share_down.abs());
        self.is_isolated = match self.is_isolated {
            true => self.utilisation >= IDLE && off <= UNEQUAL.ln(),
            false => {
                self.reports == REPORTS
                    && self.utilisation >= FULL
                    && off <= EQUAL.ln()
                    && self.fill.abs() >= UNLIKE.ln()
            }
        };
        self.is_isolated
    }
}

//! How strongly radios hear each other.

use airlane_wifi::Width;

use super::ids::{RadioId, Table};

/// Powers between radios and the noise, in dBm and in mW: what is asked for at every PPDU is not worked
/// out anew.
#[derive(Debug)]
pub(super) struct Powers {
    /// Row by sender, column by receiver: dBm, mW.
    rows: Table<RadioId, Table<RadioId, (f64, f64)>>,
    /// By width: dBm, mW.
    noise: [(f64, f64); Width::ALL.len()],
}

/// Of a radio that is not heard.
const SILENCE: (f64, f64) = (f64::NEG_INFINITY, 0.0);

impl Powers {
    pub(super) fn new(noise_figure_db: f64) -> Self {
        let noise = Width::ALL.map(|width| {
            let dbm = airlane_wifi::noise_dbm(width, noise_figure_db);
            (dbm, milliwatts(dbm))
        });
        Self { rows: Table::default(), noise }
    }

    /// Adds a radio that nobody hears yet.
    pub(super) fn add(&mut self) {
        self.rows.push(Table::default());
        let radios = self.rows.len();
        for row in self.rows.iter_mut() {
            while row.len() < radios {
                row.push(SILENCE);
            }
        }
    }

    /// `to` hears `from` with so much power from now on.
    pub(super) fn set(&mut self, from: RadioId, to: RadioId, dbm: f64) {
        self.rows[from][to] = (dbm, milliwatts(dbm));
    }

    /// Nobody hears a radio any more, and it hears nobody.
    pub(super) fn silence(&mut self, radio: RadioId) {
        for row in self.rows.iter_mut() {
            row[radio] = SILENCE;
        }
        for power in self.rows[radio].iter_mut() {
            *power = SILENCE;
        }
    }

    /// The power at which `to` hears `from`.
    #[inline]
    pub(super) fn dbm(&self, from: RadioId, to: RadioId) -> f64 {
        self.rows[from][to].0
    }

    /// The same in mW.
    #[inline]
    pub(super) fn mw(&self, from: RadioId, to: RadioId) -> f64 {
        self.rows[from][to].1
    }

    /// SNR over a width with so much interference, mW.
    #[inline]
    pub(super) fn sinr_db(
        &self,
        from: RadioId,
        to: RadioId,
        width: Width,
        interference: f64,
    ) -> f64 {
        let (noise_dbm, noise_mw) = self.noise[width as usize];
        match interference > 0.0 {
            true => self.dbm(from, to) - 10.0 * (noise_mw + interference).log10(),
            false => self.dbm(from, to) - noise_dbm,
        }
    }
}

/// dBm in mW.
pub(super) fn milliwatts(dbm: f64) -> f64 {
    10_f64.powf(dbm / 10.0)
}

//! How strongly radios hear each other.

use airlane_wifi::Width;

/// Powers between radios, dBm, and the noise.
#[derive(Debug, Default)]
pub(super) struct Powers {
    /// Row by sender, column by receiver.
    dbm: Vec<Vec<f64>>,
    noise_figure_db: f64,
}

impl Powers {
    pub(super) fn new(noise_figure_db: f64) -> Self {
        Self { dbm: Vec::new(), noise_figure_db }
    }

    /// Adds a radio that nobody hears yet.
    pub(super) fn add(&mut self) {
        for row in &mut self.dbm {
            row.push(f64::NEG_INFINITY);
        }
        self.dbm.push(vec![f64::NEG_INFINITY; self.dbm.len() + 1]);
    }

    /// Lets two radios hear each other at an SNR over a width; `b` sends with so much more power.
    pub(super) fn set_snr(
        &mut self,
        a: usize,
        b: usize,
        (snr_db, more_db): (f64, f64),
        width: Width,
    ) {
        let dbm = snr_db + self.noise_dbm(width);
        self.dbm[a][b] = dbm;
        self.dbm[b][a] = dbm + more_db;
    }

    /// Nobody hears a radio any more, and it hears nobody.
    pub(super) fn silence(&mut self, radio: usize) {
        for row in &mut self.dbm {
            row[radio] = f64::NEG_INFINITY;
        }
        self.dbm[radio].fill(f64::NEG_INFINITY);
    }

    /// The power at which `to` hears `from`.
    #[inline]
    pub(super) fn dbm(&self, from: usize, to: usize) -> f64 {
        self.dbm[from][to]
    }

    /// Thermal noise over a width, with the receiver's noise figure.
    pub(super) fn noise_dbm(&self, width: Width) -> f64 {
        airlane_wifi::noise_dbm(width, self.noise_figure_db)
    }

    /// SNR over a width with so much interference, mW.
    pub(super) fn sinr_db(&self, from: usize, to: usize, width: Width, interference: f64) -> f64 {
        let noise = milliwatts(self.noise_dbm(width));
        self.dbm(from, to) - 10.0 * (noise + interference).log10()
    }
}

/// dBm in mW.
pub(super) fn milliwatts(dbm: f64) -> f64 {
    10_f64.powf(dbm / 10.0)
}

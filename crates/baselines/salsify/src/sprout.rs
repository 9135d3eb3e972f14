//! Sprout's model of a link and its forecast (Winstein et al., NSDI 2013, section 3).
//!
//! The link delivers packets as a Poisson process whose rate wanders as Brownian motion and sticks
//! at zero during outages. The rate is one of some bins; the receiver keeps the probability of each.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Parameters of the model of a link. The defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SproutConfig {
    /// Rates that are told apart.
    pub bins: usize,
    /// The highest of them, packets a second; the lowest is zero.
    pub top: f64,
    /// The time between two observations.
    pub tick: Duration,
    /// Standard deviation of the rate's Brownian motion, packets a second for each root of a
    /// second.
    pub noise: f64,
    /// Rate at which outages end, per second.
    pub escape: f64,
    /// Ticks that are forecast: more than `ahead` by the ticks that a forecast is used for, or it runs
    /// out before the next one.
    pub horizon: usize,
    /// The forecast is what the link carries at least, but for this probability.
    pub quantile: f64,
    /// Ticks within which what is in flight has to arrive, by the forecast.
    pub ahead: usize,
}

impl Default for SproutConfig {
    fn default() -> Self {
        Self {
            bins: 256,
            top: 1_000.0,
            tick: Duration::from_millis(20),
            noise: 200.0,
            escape: 1.0,
            horizon: 10,
            quantile: 0.05,
            ahead: 5,
        }
    }
}

impl SproutConfig {
    /// The most cautious of the grid in `docs/design/salsify.md` that fills 85 % of a constant link
    /// of 6 Mbit/s and 60 ms, which the published constants do not.
    pub fn tuned() -> Self {
        Self { quantile: 0.25, ..Self::default() }
    }

    /// The same within what can be computed, whatever was asked for.
    fn bounded(self) -> Self {
        Self {
            bins: self.bins.clamp(2, 1_024),
            top: self.top.clamp(1.0, 10_000.0),
            tick: self.tick.clamp(Duration::from_millis(1), Duration::from_secs(1)),
            noise: self.noise.clamp(0.1, 10_000.0),
            escape: self.escape.clamp(0.0, 1_000.0),
            horizon: self.horizon.clamp(1, MAX_TICKS),
            ..self
        }
    }
}

/// Ticks in a forecast at most.
pub(crate) const MAX_TICKS: usize = 32;

/// Tables that depend on the configuration alone, not on what was seen.
#[derive(Debug)]
struct Tables {
    config: SproutConfig,
    /// The probability that the rate moves by so many bins in a tick: `steps[reach]` is of none.
    steps: Vec<f32>,
    reach: usize,
    /// The probability that an outage goes on for a tick.
    stays: f32,
    /// Packets that are told apart in a forecast.
    counts: usize,
    /// The probability that at most `n` packets come within `h + 1` ticks when the rate is of bin
    /// `i` now: at `(h * counts + n) * bins + i`.
    at_most: Vec<f32>,
}

impl Tables {
    fn new(config: SproutConfig) -> Self {
        let tick = config.tick.as_secs_f64();
        let width = config.top / (config.bins - 1) as f64;
        let deviation = config.noise * tick.sqrt() / width;
        let reach = ((5.0 * deviation).ceil() as usize).clamp(1, config.bins - 1);
        let offset = |d: usize| d as f64 - reach as f64;
        let weights: Vec<f64> = (0..=2 * reach)
            .map(|d| (-0.5 * (offset(d) / deviation).powi(2)).exp().max(1e-30))
            .collect();
        let sum: f64 = weights.iter().sum();
        let steps = weights.iter().map(|w| (w / sum) as f32).collect();
        let counts = (config.top * tick * config.horizon as f64).ceil() as usize + 1;
        let stays = (-config.escape * tick).exp() as f32;
        let mut tables = Self { config, steps, reach, stays, counts, at_most: Vec::new() };
        tables.fill(width * tick);
        tables
    }

    /// Looks one tick further with each round: the probability from `i` on is that of where the rate
    /// moves first, of the packets that come in that tick, and of the rest in the ticks after it.
    fn fill(&mut self, packets_per_bin: f64) {
        let (bins, counts) = (self.config.bins, self.counts);
        let likely = poisson(bins, packets_per_bin);
        let mut rest = vec![1.0_f32; counts * bins];
        let mut sum = vec![0.0_f32; bins];
        for _ in 0..self.config.horizon {
            let start = self.at_most.len();
            for n in 0..counts {
                sum.fill(0.0);
                for (k, likely) in likely.chunks_exact(bins).enumerate().take(n + 1) {
                    let rest = &rest[(n - k) * bins..][..bins];
                    for ((sum, likely), rest) in sum.iter_mut().zip(likely).zip(rest) {
                        *sum += likely * rest;
                    }
                }
                for i in 0..bins {
                    let expected = self.expect(i, &sum);
                    self.at_most.push(expected);
                }
            }
            rest.copy_from_slice(&self.at_most[start..]);
        }
    }

    /// The mean of `value` over where the rate of bin `i` is a tick later.
    fn expect(&self, i: usize, value: &[f32]) -> f32 {
        let reach = self.reach;
        let last = value.len() - 1;
        if i == 0 {
            let away = &self.steps[reach + 1..];
            let (mut weight, mut sum) = (0.0, 0.0);
            for (d, step) in away.iter().enumerate() {
                weight += step;
                sum += step * value[(d + 1).min(last)];
            }
            return self.stays * value[0] + (1.0 - self.stays) * sum / weight;
        }
        if i >= reach && i + reach <= last {
            let near = &value[i - reach..=i + reach];
            return self.steps.iter().zip(near).map(|(step, value)| step * value).sum();
        }
        let value = |d: usize| value[self.land(i + d, last)];
        self.steps.iter().enumerate().map(|(d, step)| step * value(d)).sum()
    }

    /// The bin that lies `reach` below `to`: rates are reflected at both ends.
    fn land(&self, to: usize, last: usize) -> usize {
        let bin = to.abs_diff(self.reach);
        if bin > last { (2 * last).saturating_sub(bin) } else { bin }
    }

    /// Computes the distribution of the rate a tick later. What would fall below zero is an outage.
    fn evolve(&self, from: &[f32], to: &mut [f32]) {
        let (reach, last) = (self.reach, from.len() - 1);
        to.fill(0.0);
        let away = &self.steps[reach + 1..];
        let leaves = from[0] * (1.0 - self.stays) / away.iter().sum::<f32>();
        to[0] = from[0] * self.stays;
        for (d, step) in away.iter().enumerate() {
            to[(d + 1).min(last)] += leaves * step;
        }
        for (i, p) in from.iter().enumerate().skip(1) {
            if i >= reach && i + reach <= last {
                let near = &mut to[i - reach..=i + reach];
                near.iter_mut().zip(&self.steps).for_each(|(to, step)| *to += p * step);
            } else {
                for (d, step) in self.steps.iter().enumerate() {
                    to[self.land(i + d, last)] += p * step;
                }
            }
        }
    }
}

/// The probability of `k` packets in a tick at the rate of bin `i`, at `k * bins + i`.
fn poisson(bins: usize, packets_per_bin: f64) -> Vec<f32> {
    let most = packets_per_bin * (bins - 1) as f64;
    // What lies beyond has a probability of under a millionth.
    let counts = (most + 6.0 * most.sqrt() + 6.0).ceil() as usize;
    let mut row: Vec<f64> = (0..bins).map(|i| (-packets_per_bin * i as f64).exp()).collect();
    let mut all = Vec::with_capacity(counts * bins);
    for k in 0..counts {
        all.extend(row.iter().map(|p| *p as f32));
        let next = (k + 1) as f64;
        row.iter_mut().enumerate().for_each(|(i, p)| *p *= packets_per_bin * i as f64 / next);
    }
    all
}

/// The receiver's belief about the link.
#[derive(Clone, Debug)]
pub(crate) struct Sprout {
    tables: Arc<Tables>,
    /// The probability of each bin.
    belief: Vec<f32>,
    spare: Vec<f32>,
}

impl Sprout {
    /// Every rate is as likely as any other.
    pub(crate) fn new(config: &SproutConfig) -> Self {
        static DEFAULT: OnceLock<Arc<Tables>> = OnceLock::new();
        let config = config.bounded();
        let tables = if config == SproutConfig::default() {
            DEFAULT.get_or_init(|| Arc::new(Tables::new(config))).clone()
        } else {
            Arc::new(Tables::new(config))
        };
        let belief = vec![1.0 / config.bins as f32; config.bins];
        Self { tables, spare: belief.clone(), belief }
    }

    /// The time between two ticks.
    pub(crate) fn tick_length(&self) -> Duration {
        self.tables.config.tick
    }

    fn rate(&self, bin: usize) -> f64 {
        let config = &self.tables.config;
        config.top * bin as f64 / (config.bins - 1) as f64
    }

    /// A tick has passed, in which `packets` came in `exposed` of it: for the rest there was nothing
    /// to come. `alive` if anything came at all, be it of unknown time.
    pub(crate) fn tick(&mut self, packets: f64, exposed: Duration, alive: bool) {
        self.tables.evolve(&self.belief, &mut self.spare);
        std::mem::swap(&mut self.belief, &mut self.spare);
        let exposed = exposed.min(self.tables.config.tick).as_secs_f64();
        let packets = if packets.is_nan() { 0.0 } else { packets.clamp(0.0, 1e6) };
        // Poisson's probability in logarithms, without the factor that all rates share.
        let log = |rate: f64| {
            if rate > 0.0 { packets * rate.ln() - rate * exposed } else { 0.0 }
        };
        let best = if exposed > 0.0 { packets / exposed } else { self.tables.config.top };
        let best = log(best.clamp(self.rate(1), self.tables.config.top));
        let outage = if alive || packets > 0.0 { 0.0 } else { (-best).exp() };
        let mut sum = 0.0;
        for bin in 0..self.belief.len() {
            let likely = if bin == 0 { outage } else { (log(self.rate(bin)) - best).exp() };
            self.belief[bin] *= likely as f32;
            sum += self.belief[bin];
        }
        if sum > f32::MIN_POSITIVE {
            self.belief.iter_mut().for_each(|p| *p /= sum);
        } else {
            // What came is all but impossible: nothing is known any more.
            let even = 1.0 / self.belief.len() as f32;
            self.belief.fill(even);
        }
    }

    /// Packets that come within 1, 2, ... ticks, but for the quantile.
    pub(crate) fn forecast(&self) -> Vec<u16> {
        let Tables { config, counts, at_most, .. } = &*self.tables;
        let bins = config.bins;
        let mut least = 0;
        let of_tick = at_most.chunks_exact(counts * bins).map(|at_most| {
            let below = |n: usize| {
                let row = &at_most[n * bins..][..bins];
                let sum: f32 = row.iter().zip(&self.belief).map(|(q, p)| q * p).sum();
                f64::from(sum) < config.quantile
            };
            // Probabilities grow with n, and n does with time.
            let (mut low, mut high) = (least, *counts - 1);
            while low < high {
                let middle = usize::midpoint(low, high);
                if below(middle) { low = middle + 1 } else { high = middle }
            }
            least = low;
            u16::try_from(low).unwrap_or(u16::MAX)
        });
        of_tick.collect()
    }

    /// The mean rate, packets a second.
    #[cfg(test)]
    fn mean(&self) -> f64 {
        (0..self.belief.len()).map(|bin| f64::from(self.belief[bin]) * self.rate(bin)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(20);

    /// Numbers that look random, from 0 to 1.
    fn draws() -> impl FnMut() -> f64 {
        let mut state = 12_345_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    fn poisson_draw(mean: f64, draw: &mut impl FnMut() -> f64) -> f64 {
        let (mut count, mut product) = (0, draw());
        while product > (-mean).exp() {
            count += 1;
            product *= draw();
        }
        f64::from(count)
    }

    /// After two seconds at a rate, and the mean of the belief over the two after them.
    fn settled(rate: f64) -> (Sprout, f64) {
        let (mut sprout, mut draw) = (Sprout::new(&SproutConfig::default()), draws());
        let mut sum = 0.0;
        for tick in 0..200 {
            let packets = poisson_draw(rate * 0.02, &mut draw);
            sprout.tick(packets, TICK, packets > 0.0);
            sum += if tick < 100 { 0.0 } else { sprout.mean() };
        }
        (sprout, sum / 100.0)
    }

    #[test]
    fn constant_rates_are_found() {
        for rate in [50.0, 200.0, 500.0, 800.0] {
            let (_, mean) = settled(rate);
            // Near zero the belief leans away from it, near the top from that.
            assert!((mean - rate).abs() < 0.08 * rate + 5.0, "{mean} for {rate}");
        }
    }

    #[test]
    fn forecasts_grow_and_stay_below_the_mean() {
        for rate in [50.0, 100.0, 500.0, 900.0] {
            let (mut sprout, _) = settled(rate);
            (0..50).for_each(|_| sprout.tick(rate * 0.02, TICK, true));
            let forecast = sprout.forecast();
            assert_eq!(forecast.len(), 10);
            assert!(forecast.windows(2).all(|w| w[0] <= w[1]), "{forecast:?}");
            for (tick, packets) in forecast.iter().enumerate() {
                let mean = sprout.mean() * 0.02 * (tick + 1) as f64;
                assert!(f64::from(*packets) < mean, "{packets} in tick {tick}, mean {mean}");
            }
            // Low rates may be lower still soon, for all that is assumed.
            let least = if rate < 200.0 { 0.0 } else { 0.5 * rate * 0.2 };
            assert!(f64::from(forecast[9]) > least, "{forecast:?} for {rate}");
        }
    }

    /// One tick's forecast of a known rate is the quantile of a Poisson variable, but for the noise.
    #[test]
    fn a_forecast_of_a_known_rate_is_poissons_quantile() {
        let config = SproutConfig { noise: 0.1, bins: 101, ..SproutConfig::default() };
        let mut sprout = Sprout::new(&config);
        sprout.belief.fill(0.0);
        sprout.belief[50] = 1.0;
        let forecast = sprout.forecast();
        // Poisson of mean 10: P(<= 4) = 0.029, P(<= 5) = 0.067. Of mean 20: P(<= 12) = 0.039, 13: 0.066.
        assert_eq!(&forecast[..2], [5, 13]);
    }

    #[test]
    fn outages_stick_and_are_left_at_their_rate() {
        let (mut sprout, _) = settled(500.0);
        (0..25).for_each(|_| sprout.tick(0.0, TICK, false));
        assert!(sprout.belief[0] > 0.5, "{}", sprout.belief[0]);
        assert_eq!(sprout.forecast()[4], 0);
        // Nothing is seen from then on: it ends once a second.
        sprout.belief.fill(0.0);
        sprout.belief[0] = 1.0;
        sprout.tick(0.0, Duration::ZERO, false);
        assert!((f64::from(sprout.belief[0]) - (-0.02_f64).exp()).abs() < 1e-6);
        // A faster escape leaves sooner; anything that comes proves that it is over.
        let config = SproutConfig { escape: 10.0, ..SproutConfig::default() };
        let mut fast = Sprout::new(&config);
        fast.belief.fill(0.0);
        fast.belief[0] = 1.0;
        fast.tick(0.0, Duration::ZERO, false);
        assert!((f64::from(fast.belief[0]) - (-0.2_f64).exp()).abs() < 1e-6);
        fast.tick(0.0, Duration::ZERO, true);
        assert_eq!(fast.belief[0], 0.0);
        assert!(fast.mean() > 0.0);
    }

    #[test]
    fn a_tick_without_exposure_only_blurs() {
        let (mut sprout, _) = settled(500.0);
        let before = sprout.mean();
        sprout.tick(0.0, Duration::ZERO, false);
        assert!((sprout.mean() - before).abs() < 1.0, "{before} {}", sprout.mean());
    }

    #[test]
    fn nothing_that_comes_upsets_it() {
        let mut sprout = Sprout::new(&SproutConfig::default());
        for packets in [1e9, 0.0, f64::MAX, -1.0, f64::NAN] {
            sprout.tick(packets, TICK, true);
            let sum: f32 = sprout.belief.iter().sum();
            assert!((sum - 1.0).abs() < 1e-3, "{sum} after {packets}");
        }
    }
}

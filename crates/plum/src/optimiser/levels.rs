//! Best downlink rates for one sum of uplinks, by two levels.
//!
//! With the sum T of uplinks fixed, client i has a cap `min(B_i, T)` and a free rate: downlink below
//! `cap - M/V` takes nothing from its uplink. What all downlinks take above their free rates may sum
//! to the slack `R(T) = sum min(M/V, min(B_i, T)) - T`. The slack is filled as water is, to one level;
//! a second level cuts off the QoE that fairness does not want.

use super::config::ContentBound;
use super::problem::Problem;
use super::utility::{Utility, moments};

/// Problem with its participants by rising capacity, and room for one evaluation.
pub(super) struct Levels<'a> {
    problem: &'a Problem,
    utility: Utility,
    rho: f64,
    /// Participants by rising capacity.
    order: Vec<usize>,
    /// Capacity, QoE at the capacity, largest free rate and QoE at it, in this order.
    clients: Vec<Client>,
    /// Rates at which water stops and starts to count, rising.
    caps: Vec<f64>,
    free: Vec<f64>,
    /// Rates without the second level, and their QoE.
    rates: Vec<f64>,
    qoe: Vec<f64>,
    sorted: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Client {
    capacity: f64,
    cap: Rated,
    free: Rated,
}

/// Part of the slack that a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// None, nor of its free rate: of use where the server is what binds.
    Nothing,
    /// None: its free rate alone.
    Free,
    /// Up to the common level.
    Level,
    /// All that it can take.
    Full,
}

/// Rate with its QoE.
#[derive(Clone, Copy)]
struct Rated {
    rate: f64,
    qoe: f64,
}

/// Best rates for one sum of uplinks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Utility that was maximised.
    pub(super) utility: f64,
    /// Rate to which the slack is filled; infinite if it suffices for all.
    pub(super) water: f64,
    /// Rate to which the server cuts downlinks; infinite if it does not bind.
    pub(super) server: f64,
    /// QoE above which fairness cuts off.
    pub(super) qoe: f64,
}

impl Point {
    /// The value of a point that does not fit.
    const INFEASIBLE: Self =
        Self { utility: f64::NEG_INFINITY, water: 0.0, server: f64::INFINITY, qoe: 0.0 };
}

impl<'a> Levels<'a> {
    /// The problem with a weight of fairness that may differ from its own.
    pub(super) fn new(problem: &'a Problem, rho: f64) -> Self {
        let capacities = problem.capacities();
        let mut order: Vec<usize> = (0..capacities.len()).collect();
        order.sort_by(|&a, &b| capacities[a].total_cmp(&capacities[b]));
        let saturation = problem.qoe().saturation();
        let rated = |rate: f64| Rated { rate, qoe: problem.qoe().value(rate) };
        let client = |&i: &usize| {
            let capacity = capacities[i];
            let cap = capacity.min(saturation);
            let free = match problem.content() {
                ContentBound::Written => (capacity - problem.max_uplink()).clamp(0.0, cap),
                ContentBound::Relaxed => 0.0,
            };
            Client { capacity, cap: rated(cap), free: rated(free) }
        };
        let clients: Vec<Client> = order.iter().map(client).collect();
        let n = clients.len();
        let room = || Vec::with_capacity(n);
        Self {
            problem,
            utility: Utility::new(rho),
            rho,
            order,
            clients,
            caps: room(),
            free: room(),
            rates: room(),
            qoe: room(),
            sorted: room(),
        }
    }

    /// Largest sum of uplinks that can all be carried.
    pub(super) fn max_total(&self) -> f64 {
        self.clients.iter().map(|c| c.capacity.min(self.problem.max_uplink())).sum()
    }

    /// Evaluates a sum of uplinks with all clients at the common level: the optimum for concave QoE.
    pub(super) fn evaluate(&mut self, total: f64) -> Point {
        self.evaluate_parts(total, |_| Part::Level)
    }

    /// Evaluates a sum of uplinks where clients, by their index in rising order of capacity, get these
    /// parts of the slack. Without room for the parts the utility is negative infinity.
    pub(super) fn evaluate_parts(&mut self, total: f64, part: impl Fn(usize) -> Part) -> Point {
        let Some(water) = self.fill(total, &part) else { return Point::INFEASIBLE };
        let Some(server) = self.cut_to_server(&part) else { return Point::INFEASIBLE };
        self.sorted.clear();
        self.sorted.extend(&self.qoe);
        if !self.sorted.is_sorted() {
            self.sorted.sort_by(f64::total_cmp);
        }
        let qoe = top_level(&self.sorted, self.rho);
        let is_above = server.is_infinite() || qoe >= self.problem.qoe().value(server);
        let server = if is_above { server } else { f64::INFINITY };
        self.sorted.iter_mut().for_each(|q| *q = q.min(qoe));
        Point { utility: self.utility.score(&self.sorted).utility, water, server, qoe }
    }

    /// Downlink rates of a point that was evaluated last, by participant.
    pub(super) fn down(&self, point: Point) -> Vec<f64> {
        let top = self.problem.qoe().rate(point.qoe);
        let mut down = vec![0.0; self.order.len()];
        for ((&participant, &rate), &qoe) in self.order.iter().zip(&self.rates).zip(&self.qoe) {
            down[participant] = if qoe <= point.qoe { rate } else { rate.min(top) };
        }
        down
    }

    /// Sets the rate of each client and its QoE without the second level; returns the level of the water, or nothing if the
    /// full parts exceed the slack.
    fn fill(&mut self, total: f64, part: &impl Fn(usize) -> Part) -> Option<f64> {
        let function = self.problem.qoe();
        let saturation = function.saturation();
        let rated = |rate: f64| Rated { rate, qoe: function.value(rate) };
        let (limit, slack) = match self.problem.content() {
            ContentBound::Written => (total, self.slack(total)),
            ContentBound::Relaxed => (f64::INFINITY, self.problem.relaxed_total()),
        };
        let max_uplink = self.problem.max_uplink();
        let cap_of_ample = rated(limit.min(saturation));
        let free_of_ample = rated((limit - max_uplink).clamp(0.0, cap_of_ample.rate));
        let ends = |client: &Client| {
            let is_ample = client.capacity > limit;
            if is_ample { (cap_of_ample, free_of_ample) } else { (client.cap, client.free) }
        };
        self.caps.clear();
        self.free.clear();
        let mut left = slack;
        for (i, client) in self.clients.iter().enumerate() {
            let (cap, free) = ends(client);
            match part(i) {
                Part::Nothing | Part::Free => {}
                Part::Full => left -= cap.rate - free.rate,
                Part::Level => {
                    self.caps.push(cap.rate);
                    self.free.push(free.rate);
                }
            }
        }
        if left < -1e-12 * slack {
            return None;
        }
        let water = water_level(&self.free, &self.caps, left.max(0.0));
        let (level, nothing) = (rated(water.min(saturation)), rated(0.0));
        self.rates.clear();
        self.qoe.clear();
        for (i, client) in self.clients.iter().enumerate() {
            let (cap, free) = ends(client);
            let reached = match part(i) {
                Part::Level if level.rate > free.rate => level,
                Part::Level | Part::Free => free,
                Part::Full => cap,
                Part::Nothing => nothing,
            };
            let largest = if reached.rate < cap.rate { reached } else { cap };
            self.rates.push(largest.rate);
            self.qoe.push(largest.qoe);
        }
        Some(water)
    }

    /// R(T).
    fn slack(&self, total: f64) -> f64 {
        let limit = total.min(self.problem.max_uplink());
        let offered: f64 = self.clients.iter().map(|c| c.capacity.min(limit)).sum();
        (offered - total).max(0.0)
    }

    /// Cuts the rates of all clients but those with full parts to a common level with which the server
    /// carries the sum. Returns the level, infinite if nothing was cut, or nothing if the full parts
    /// alone are too much.
    fn cut_to_server(&mut self, part: &impl Fn(usize) -> Part) -> Option<f64> {
        let Some(server) = self.problem.server() else { return Some(f64::INFINITY) };
        if self.rates.iter().sum::<f64>() <= server {
            return Some(f64::INFINITY);
        }
        let mut left = server;
        self.sorted.clear();
        for (i, &rate) in self.rates.iter().enumerate() {
            if part(i) == Part::Full {
                left -= rate;
            } else {
                self.sorted.push(rate);
            }
        }
        if left < 0.0 {
            return None;
        }
        self.sorted.sort_by(f64::total_cmp);
        let mut others = self.sorted.len();
        for &rate in &self.sorted {
            if rate * others as f64 >= left {
                break;
            }
            left -= rate;
            others -= 1;
        }
        let level = left.max(0.0) / others.max(1) as f64;
        let qoe = self.problem.qoe().value(level);
        for (i, (rate, q)) in self.rates.iter_mut().zip(&mut self.qoe).enumerate() {
            if part(i) != Part::Full && *rate > level {
                (*rate, *q) = (level, qoe);
            }
        }
        Some(level)
    }

    /// Derivative of the best utility by the sum of uplinks, by the envelope theorem. `None` where all
    /// have the same QoE: utility has no derivative there.
    pub(super) fn slope(&mut self, total: f64) -> Option<f64> {
        let point = self.evaluate(total);
        let n = self.order.len() as f64;
        let (mean, deviation) = moments(&self.sorted);
        if deviation < 1e-12 {
            return None;
        }
        let function = self.problem.qoe();
        let plain = |rate: f64| {
            let by_qoe = (1.0 - self.rho) / n
                - 2.0 * self.rho * (function.value(rate) - mean) / (n * deviation);
            by_qoe * function.slope(rate)
        };
        let top = function.rate(point.qoe).min(point.server);
        let of_server = if point.server.is_finite() { plain(top) } else { 0.0 };
        let worth = |rate: f64| (plain(rate) - of_server).max(0.0);
        // What one kbit/s of slack is worth.
        let fills = point.water < top && point.water.is_finite();
        let price = if fills { worth(point.water) } else { 0.0 };
        let ample = self.clients.iter().filter(|c| c.capacity > total).count() as f64;
        let free = total - self.problem.max_uplink();
        let level = point.water.min(top);
        let each = if total <= level && total <= function.saturation() {
            worth(total)
        } else if free <= 0.0 || level > free {
            price
        } else if free < top && free < function.saturation() {
            worth(free).min(price)
        } else {
            0.0
        };
        Some(ample * each - price)
    }
}

/// Level L with `sum of max(min(cap, L) - free, 0) = slack`, for rising caps and rising free rates;
/// infinite if all caps together take less.
fn water_level(free: &[f64], caps: &[f64], slack: f64) -> f64 {
    let (mut started, mut stopped) = (0, 0);
    let (mut level, mut left) = (0.0, slack);
    while stopped < caps.len() {
        let starts = free.get(started).copied().unwrap_or(f64::INFINITY);
        let next = starts.min(caps[stopped]);
        let rising = (started - stopped) as f64;
        let taken = rising * (next - level);
        if taken >= left && rising > 0.0 {
            return level + left / rising;
        }
        left -= taken;
        level = next;
        if starts <= caps[stopped] {
            started += 1;
        } else {
            stopped += 1;
        }
    }
    f64::INFINITY
}

/// QoE q0 that no client should exceed, for rising QoE that clients can have:
/// `q0 = mean + (1 - rho) / (2 rho) sigma` of the QoE that is cut off at q0.
///
/// With m clients below q0, whose QoE has the mean a and the deviation s, that is
/// `q0 = a + s sqrt(c / (m - c))`, `c = n k^2 / (1 + k^2)`, `k = (1 - rho) / (2 rho)`.
fn top_level(rising: &[f64], rho: f64) -> f64 {
    let n = rising.len() as f64;
    let squared = (1.0 - rho) * (1.0 - rho);
    let share = n * squared / (squared + 4.0 * rho * rho);
    let Some(&lowest) = rising.first() else { return f64::INFINITY };
    let (mut sum, mut squares) = (0.0, 0.0);
    for (i, &qoe) in rising.iter().enumerate() {
        let above = qoe - lowest;
        sum += above;
        squares += above * above;
        let below = (i + 1) as f64;
        if below > share {
            let mean = sum / below;
            let deviation = (squares / below - mean * mean).max(0.0).sqrt();
            let level = (mean + deviation * (share / (below - share)).sqrt()).max(above);
            if rising.get(i + 1).is_none_or(|next| lowest + level <= *next) {
                return lowest + level;
            }
        }
    }
    f64::INFINITY
}

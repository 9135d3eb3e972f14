//! The rule in a fluid model: users of one channel, rates that take effect a round trip later, utilisation
//! measured over the estimator's window with the noise that random backoff makes.

use std::collections::VecDeque;

use airlane_base::{Rate, Rng, Seed};
use airlane_cupid::{Air, RateRule, RuleKind, RuleOptions, left_share};
use rand::RngExt;

const REPORT_MS: usize = 40;
/// Utilisation over a window is off by about this: see the estimator's tests.
const NOISE: f64 = 0.01;
const DELTA: f64 = 300e6;

/// What a user may use of the air, by time in ms.
type Wants = fn(usize) -> f64;

/// One user: what it may use of the air, by time in ms.
struct User {
    wants: Wants,
    rule: RateRule,
    rate: f64,
    /// Rates on their way, with when they take effect.
    coming: VecDeque<(usize, f64)>,
    used: Vec<f64>,
    last_active: Option<usize>,
}

struct Model {
    kind: RuleKind,
    rtt_ms: usize,
    /// Time that is measured over, and how long ago it ends.
    window_ms: usize,
    lag_ms: usize,
    /// Between the reports of one user and the next.
    apart_ms: usize,
    shares_are_known: bool,
    seed: u64,
}

impl Model {
    fn new(kind: RuleKind) -> Self {
        let (rtt_ms, window_ms, lag_ms, apart_ms) = (20, 80, 5, 13);
        Self { kind, rtt_ms, window_ms, lag_ms, apart_ms, shares_are_known: true, seed: 1 }
    }

    /// As the slides have it: U(t) is of the time since the last report, and rates hold from then on.
    fn report_by_report(kind: RuleKind) -> Self {
        let (rtt_ms, window_ms, lag_ms, apart_ms) = (0, REPORT_MS, 0, 0);
        Self { rtt_ms, window_ms, lag_ms, apart_ms, ..Self::new(kind) }
    }

    /// Runs users for so many ms. Returns the utilisation, and each user's share, by ms.
    fn run(&self, wants: &[Wants], ms: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let options = RuleOptions { kind: self.kind, ..RuleOptions::default() };
        let mut rng: Rng = Seed(self.seed).rng();
        let mut users: Vec<User> = wants
            .iter()
            .map(|&wants| User {
                wants,
                rule: RateRule::new(options),
                rate: 0.0,
                coming: VecDeque::new(),
                used: Vec::new(),
                last_active: None,
            })
            .collect();
        let mut total = Vec::new();
        for now in 0..ms {
            for user in &mut users {
                while user.coming.front().is_some_and(|&(at, _)| at <= now) {
                    user.rate = user.coming.pop_front().expect("one").1;
                }
            }
            let wanted: Vec<f64> =
                users.iter().map(|u| (u.rate / DELTA).min((u.wants)(now))).collect();
            let scale = 1.0 / wanted.iter().sum::<f64>().max(1.0);
            for (user, wanted) in users.iter_mut().zip(wanted) {
                user.used.push(wanted * scale);
                if wanted > 0.0 {
                    user.last_active = Some(now);
                }
            }
            total.push(users.iter().map(|u| u.used[now]).sum());
            let until = now.saturating_sub(self.lag_ms);
            let from = until.saturating_sub(self.window_ms);
            let window =
                |used: &[f64]| used[from..until].iter().sum::<f64>() / (until - from).max(1) as f64;
            let shares: Vec<f64> = users.iter().map(|user| window(&user.used)).collect();
            let active = |user: &User| user.last_active.is_some_and(|at| now - at <= 1_000);
            let stations = users.iter().filter(|user| active(user)).count() as u32;
            let utilisation = shares.iter().sum::<f64>();
            // All hear the same air, so the same noise.
            let noise = rng.random_range(-NOISE..NOISE);
            for i in 0..users.len() {
                if now % REPORT_MS != (i * self.apart_ms) % REPORT_MS
                    || (users[i].wants)(now) == 0.0
                {
                    continue;
                }
                let others: Vec<f64> = (0..users.len())
                    .filter(|&j| j != i && active(&users[j]))
                    .map(|j| shares[j])
                    .collect();
                let stations = stations + u32::from(!active(&users[i]));
                let air = Air {
                    utilisation: utilisation + noise,
                    stations,
                    delta: Rate::from_bps_f64(DELTA),
                    goodput: Rate::from_bps_f64(shares[i] * DELTA),
                    left: self.shares_are_known.then(|| left_share(0.8, stations, &others)),
                    reserved: 0.0,
                    own: None,
                };
                let rate = users[i].rule.update(&air).as_f64();
                users[i].coming.push_back((now + self.rtt_ms, rate));
            }
        }
        (total, users.into_iter().map(|user| user.used).collect())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn always(_: usize) -> f64 {
    1.0
}

fn a_tenth(_: usize) -> f64 {
    0.1
}

fn ends_at_3s(ms: usize) -> f64 {
    if ms < 3_000 { 1.0 } else { 0.0 }
}

fn slows_at_3s(ms: usize) -> f64 {
    if ms < 3_000 { 1.0 } else { 0.05 }
}

fn from_3s(ms: usize) -> f64 {
    if ms < 3_000 { 0.0 } else { 1.0 }
}

#[test]
fn the_published_rule_leaves_air_idle_beside_a_limited_user_and_the_default_does_not() {
    let users: [Wants; 3] = [always, always, a_tenth];
    let mean_of = |model: &Model| {
        let (used, shares) = model.run(&users, 20_000);
        (mean(&used[2_000..]), shares.iter().map(|s| mean(&s[2_000..])).collect::<Vec<_>>())
    };
    for seed in 1..=5 {
        let (by_report, _) = mean_of(&Model { seed, ..Model::report_by_report(RuleKind::Paper) });
        let (paper, _) = mean_of(&Model { seed, ..Model::new(RuleKind::Paper) });
        let model = Model { seed, ..Model::new(RuleKind::Default) };
        let (default, shares) = mean_of(&model);
        let (blind, _) = mean_of(&Model { shares_are_known: false, ..model });
        println!(
            "paper {by_report:.3} and {paper:.3}, default {default:.3} {shares:.3?}, blind {blind:.3}"
        );
        assert!((0.74..=0.76).contains(&by_report), "{by_report}");
        // Over a longer window and a round trip it comes closer before it touches eta.
        assert!((0.74..=0.785).contains(&paper), "{paper}");
        assert!((0.79..=0.81).contains(&default), "{default}");
        assert!((0.76..=0.81).contains(&blind), "{blind}");
        assert!((shares[0] / shares[1] - 1.0).abs() < 0.02, "{shares:?}");
        assert!((shares[2] - 0.1).abs() < 0.001, "the limited one has all that it wants");
    }
}

/// After how many ms utilisation is back at eta less 5 %, for good; and how long it was below in all.
fn reuse(kind: RuleKind, users: &[Wants], seed: u64) -> (usize, f64) {
    let (used, _) = Model { seed, ..Model::new(kind) }.run(users, 6_000);
    // Over 20 ms: what a report's noise does for one is no idle air.
    let smooth = |ms: usize| mean(&used[ms - 20..ms]);
    let back = (3_020..5_500).find(|&ms| smooth(ms) >= 0.76).unwrap_or(5_500);
    let below = (back..6_000).filter(|&ms| smooth(ms) < 0.75).count();
    (back - 3_000, below as f64 / (6_000 - back) as f64)
}

#[test]
fn air_of_who_leaves_or_slows_down_is_used_again_within_200_ms() {
    let scenes: [&[Wants]; 4] = [
        &[always, always, ends_at_3s],
        &[always, always, slows_at_3s],
        &[always, ends_at_3s],
        &[always, always, always, slows_at_3s],
    ];
    for (i, scene) in scenes.into_iter().enumerate() {
        for seed in 1..=5 {
            let (default, below) = reuse(RuleKind::Default, scene, seed);
            let (paper, paper_below) = reuse(RuleKind::Paper, scene, seed);
            println!(
                "scene {i}: default {default} ms, {below:.2}; paper {paper} ms, {paper_below:.2}"
            );
            assert!(default < 200, "scene {i}: {default} ms");
            assert!(below < 0.05, "scene {i}: {below}");
        }
    }
}

#[test]
fn who_comes_gets_an_equal_part_within_half_a_second() {
    for kind in [RuleKind::Paper, RuleKind::Default] {
        let users: [Wants; 3] = [always, always, from_3s];
        let (used, shares) = Model::new(kind).run(&users, 5_000);
        let at =
            |from: usize| shares.iter().map(|s| mean(&s[from..from + 200])).collect::<Vec<_>>();
        let shares = at(3_500);
        let squares = shares.iter().map(|s| s * s).sum::<f64>();
        let jain = shares.iter().sum::<f64>().powi(2) / (3.0 * squares);
        println!("{kind:?}: {shares:.3?}, Jain {jain:.4}");
        assert!(jain > 0.98, "{kind:?}: {shares:?}");
        assert!(mean(&used[3_500..]) < 0.85, "{kind:?}");
    }
}

#[test]
fn long_round_trips_do_not_make_it_swing() {
    for rtt_ms in [5, 20, 100, 200] {
        let model = Model { rtt_ms, ..Model::new(RuleKind::Default) };
        let (used, _) = model.run(&[always, always, a_tenth, always], 10_000);
        let (least, most) = used[4_000..]
            .iter()
            .fold((1.0_f64, 0.0_f64), |(least, most), &u| (least.min(u), most.max(u)));
        println!("{rtt_ms} ms: {least:.3}-{most:.3}");
        assert!(least > 0.74 && most < 0.86, "{rtt_ms} ms: {least} {most}");
    }
}

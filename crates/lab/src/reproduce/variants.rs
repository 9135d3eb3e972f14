//! The rows beside a claim that need runs of their own: the claim's scene with one thing changed.

use airlane_base::Rate;

use crate::scenario::{Abr, Capacity, Control, Discipline, Scenario, Scheme, WeightRule};

/// What is changed in the scene.
pub(super) struct Variant {
    /// Its name in `beside` and in rows.
    pub(super) name: &'static str,
    change: fn(&mut Scenario),
}

/// Every variant that a claim may list.
pub(super) const VARIANTS: &[Variant] = &[
    Variant { name: "alpha_1.65", change: |s| minerva(s, |m| m.alpha = Some(1.65)) },
    Variant { name: "mpc", change: |s| s.player.abr = Abr::Mpc },
    Variant {
        name: "smoothness_chunkwise",
        change: |s| s.player.smoothness = airlane_quality::Smoothness::Chunk,
    },
    Variant { name: "droptail", change: |s| s.link.queue.discipline = Discipline::DropTail },
    Variant { name: "link_4", change: |s| s.link.capacity = megabits(4.0) },
    Variant { name: "link_11", change: |s| s.link.capacity = megabits(11.0) },
    Variant { name: "link_16", change: |s| s.link.capacity = megabits(16.0) },
    Variant { name: "cubic_over_droptail", change: |s| baseline(s, cubic) },
];

impl Variant {
    /// The variant of that name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        VARIANTS.iter().find(|v| v.name == name)
    }

    /// Changes the scene.
    pub(super) fn apply(&self, scenario: &mut Scenario) {
        (self.change)(scenario);
    }
}

fn megabits(mbps: f64) -> Capacity {
    Capacity::Constant(Rate::from_mbps(mbps))
}

fn minerva(scenario: &mut Scenario, change: impl Fn(&mut crate::scenario::Minerva)) {
    scenario.schemes.iter_mut().filter_map(|s| s.minerva.as_mut()).for_each(change);
}

fn baseline(scenario: &mut Scenario, change: impl Fn(&mut Scheme)) {
    scenario.schemes.iter_mut().filter(|s| s.minerva.is_none()).for_each(change);
}

/// The paper's QUIC Cubic, which emulates two connections.
fn cubic(scheme: &mut Scheme) {
    scheme.control = Control::Cubic { weight: 2.0, rule: WeightRule::Synchronised };
}

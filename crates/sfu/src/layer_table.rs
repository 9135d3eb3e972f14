//! Layers to choose from, and the choice by a bitrate.

use airlane_base::Rate;

use crate::layer::LayerIndex;

/// Share by which a bitrate must exceed that of a higher layer before it is chosen: measured bitrates vary, and each
/// switch of a spatial layer costs a key frame.
pub const UP_SWITCH_MARGIN: f64 = 0.1;

/// A layer with the bitrate of those who receive it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerStep {
    /// The layer.
    pub layer: LayerIndex,
    /// Bitrate of the layer with all that it depends on.
    pub rate: Rate,
}

/// Layers that a source sends at the moment, in the order of quality.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LayerTable {
    steps: Vec<LayerStep>,
}

impl LayerTable {
    /// The table of these steps, in any order.
    pub fn new(mut steps: Vec<LayerStep>) -> Self {
        steps.sort_by_key(|step| step.layer);
        Self { steps }
    }

    /// Steps in the order of quality.
    pub fn steps(&self) -> &[LayerStep] {
        &self.steps
    }

    /// Bitrate of a layer, if the source sends it.
    pub fn rate(&self, layer: LayerIndex) -> Option<Rate> {
        self.steps.iter().find(|step| step.layer == layer).map(|step| step.rate)
    }

    /// The next better step: what a receiver would want to find room for.
    pub fn step_above(&self, layer: LayerIndex) -> Option<LayerStep> {
        self.steps.iter().find(|step| step.layer > layer).copied()
    }

    /// The best layer that fits into a bitrate; the lowest if none does. `current` stays while it fits, and a higher
    /// one needs [`UP_SWITCH_MARGIN`]. Nothing is known of an empty table: it leaves the current layer, or chooses the
    /// lowest.
    pub fn choose(&self, rate: Rate, current: Option<LayerIndex>) -> LayerIndex {
        let fits = |step: &LayerStep| match current.is_some_and(|layer| step.layer > layer) {
            true => step.rate.scale(1.0 + UP_SWITCH_MARGIN) <= rate,
            false => step.rate <= rate,
        };
        let best = self.steps.iter().rev().find(|step| fits(step)).or(self.steps.first());
        best.map(|step| step.layer).or(current).unwrap_or(LayerIndex::LOWEST)
    }
}

//! Metrics and the figures that stand first.

use std::borrow::Cow;
use std::sync::Arc;

use airlane_report::model::Column;

use super::{RunResult, Unit};

/// Direction in which a metric is better: more of it or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither.
    Neutral,
}

/// Subject of a metric: an actor or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// An actor: one who has rows of its own.
    Actor,
    /// A run.
    Run,
}

/// Metric of an actor or of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Its name in rows and claims.
    pub name: Cow<'static, str>,
    /// Its unit.
    pub unit: Unit,
    /// Direction in which it is better: more or less.
    pub sense: Sense,
    /// Subject: an actor or a run.
    pub scope: Scope,
}

impl Metric {
    /// A metric of an actor.
    pub fn of_actor(name: impl Into<Cow<'static, str>>, unit: Unit, sense: Sense) -> Self {
        Self { name: name.into(), unit, sense, scope: Scope::Actor }
    }

    /// A metric of a run.
    pub fn of_run(name: impl Into<Cow<'static, str>>, unit: Unit, sense: Sense) -> Self {
        Self { scope: Scope::Run, ..Self::of_actor(name, unit, sense) }
    }
}

type OfRun = dyn Fn(&RunResult) -> Option<f64> + Send + Sync;

/// A figure of a run that stands in tables by scheme, on the terminal and in sweeps.
#[derive(Clone)]
pub struct Headline {
    /// Column of the metric in tables: heading, unit, digits, sense and help.
    pub column: Column,
    /// Its short heading on the terminal; `None` if it is not shown there.
    pub terminal: Option<&'static str>,
    /// Form in which sweeps show it: not, in tables, or in tables and drawn.
    pub in_sweep: SweepForm,
    /// The least value that is possible, if there is one.
    pub floor: Option<f64>,
    of: Arc<OfRun>,
}

/// Form in which a sweep shows a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepForm {
    /// Nothing.
    No,
    /// It stands in tables.
    Table,
    /// And is drawn, on an axis from zero.
    Drawn,
    /// And is drawn, on an axis of its own range.
    DrawnInRange,
}

impl Headline {
    /// A metric of runs: `of` extracts its value from a run, `column` is its heading in tables.
    pub fn new(
        column: Column,
        of: impl Fn(&RunResult) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self { column, terminal: None, in_sweep: SweepForm::No, floor: Some(0.0), of: Arc::new(of) }
    }

    /// With a place on the terminal.
    pub fn on_terminal(self, heading: &'static str) -> Self {
        Self { terminal: Some(heading), ..self }
    }

    /// With a place in sweeps.
    pub fn in_sweep(self, in_sweep: SweepForm) -> Self {
        Self { in_sweep, ..self }
    }

    /// It may be below zero.
    pub fn signed(self) -> Self {
        Self { floor: None, ..self }
    }

    /// Of a run.
    pub fn of(&self, run: &RunResult) -> Option<f64> {
        (self.of)(run)
    }

    /// The column without sense and help.
    pub fn plain_column(&self) -> Column {
        let Column { title, unit, digits, .. } = &self.column;
        Column::number(title, unit, *digits)
    }
}

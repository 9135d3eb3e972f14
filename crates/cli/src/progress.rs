//! How far the work is: a bar with the time left on a terminal, plain lines elsewhere.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use airlane_sim::pool::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

use crate::clock::Clock;

/// The progress that fits the standard error and `--quiet`.
pub(crate) fn progress(quiet: bool, clock: Clock) -> Box<dyn Progress> {
    if quiet {
        Box::new(())
    } else if std::io::stderr().is_terminal() {
        Box::new(Bar(Mutex::new(None)))
    } else {
        Box::new(Lines { clock, state: Mutex::new(State::default()) })
    }
}

/// A bar with the time left.
struct Bar(Mutex<Option<ProgressBar>>);

impl Bar {
    fn with(&self, act: impl FnOnce(&ProgressBar)) {
        if let Some(bar) = &*self.0.lock() {
            act(bar);
        }
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, units: u64) {
        let style = ProgressStyle::with_template(
            "{prefix} [{bar:40}] {percent:>3} %, {eta} left  {wide_msg}",
        )
        .expect("a sound template")
        .progress_chars("=> ");
        let bar = ProgressBar::new(units).with_style(style).with_prefix(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        *self.0.lock() = Some(bar);
    }

    fn advance(&self, units: u64) {
        self.with(|bar| bar.inc(units));
    }

    fn finished(&self, label: &str) {
        self.with(|bar| bar.set_message(label.to_owned()));
    }

    fn end(&self) {
        self.with(ProgressBar::finish_and_clear);
        *self.0.lock() = None;
    }
}

/// A line each time another tenth of the work is done.
struct Lines {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    what: String,
    units: u64,
    done: u64,
    tenths_said: u64,
    began: Duration,
}

impl Progress for Lines {
    fn begin(&self, what: &str, units: u64) {
        // A closed standard error is ignored.
        let _ = writeln!(std::io::stderr(), "{what}: 0 %");
        let what = what.to_owned();
        *self.state.lock() = State { what, units, began: self.clock.elapsed(), ..State::default() };
    }

    fn advance(&self, units: u64) {
        let mut s = self.state.lock();
        s.done += units;
        let tenths = (s.done * 10).checked_div(s.units).unwrap_or(10);
        if tenths <= s.tenths_said {
            return;
        }
        s.tenths_said = tenths;
        let spent = self.clock.elapsed().saturating_sub(s.began).as_secs_f64();
        let left = spent * (s.units - s.done.min(s.units)) as f64 / s.done as f64;
        let _ = writeln!(std::io::stderr(), "{}: {} %, {left:.0} s left", s.what, 10 * tenths);
    }

    fn finished(&self, _label: &str) {}

    fn end(&self) {}
}

/// Display of the progress of one piece of work that knows its share itself, and of its messages.
pub(crate) struct Share(Showing);

enum Showing {
    Nothing,
    Bar(ProgressBar),
    /// Tenths of the work that lines were printed for.
    Lines(Cell<u64>),
}

impl Share {
    const UNITS: u64 = 1000;

    /// Display that fits the standard error and `--quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        if quiet {
            return Self(Showing::Nothing);
        }
        if !std::io::stderr().is_terminal() {
            return Self(Showing::Lines(Cell::new(0)));
        }
        let style = ProgressStyle::with_template("[{bar:40}] {percent:>3} %  {wide_msg}")
            .expect("a sound template")
            .progress_chars("=> ");
        Self(Showing::Bar(ProgressBar::new(Self::UNITS).with_style(style)))
    }

    /// `fraction` of it is done; the rest takes as long as `left`, if anybody can tell.
    pub(crate) fn tell(&self, fraction: f64, left: Option<Duration>, doing: &str) {
        let left = left.map_or_else(String::new, |l| format!(", {:.0} s left", l.as_secs_f64()));
        match &self.0 {
            Showing::Nothing => {}
            Showing::Bar(bar) => {
                bar.set_position((fraction * Self::UNITS as f64) as u64);
                bar.set_message(format!("{doing}{left}"));
            }
            Showing::Lines(said) => {
                let tenths = (fraction * 10.0) as u64;
                if tenths > said.get() {
                    said.set(tenths);
                    let _ = writeln!(std::io::stderr(), "{doing}: {} %{left}", 10 * tenths);
                }
            }
        }
    }

    /// A line on the standard error, above the bar.
    pub(crate) fn say(&self, line: &str) {
        match &self.0 {
            Showing::Bar(bar) => bar.suspend(|| {
                let _ = writeln!(std::io::stderr(), "{line}");
            }),
            _ => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Showing::Bar(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

//! Messages that strangers can provoke: of each kind one a minute, which tells how many more of it
//! there were.
//!
//! A kind is a constant of the program, so that what is kept is bounded: neither an address nor a
//! name that a client sends makes a kind of its own.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Time, printable};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;
use tracing::Level;

/// Between two messages of a kind.
const PAUSE: Duration = Duration::from_secs(60);
/// Bytes of a message that are kept while it waits to be said.
const MAX_KEPT_BYTES: usize = 400;

/// Function that receives the messages.
type Sink = fn(Level, &str);

/// Log that limits its messages to one of a kind per minute: others are counted, and told once
/// the minute is over.
pub struct RateLimitedLog {
    runtime: RuntimeHandle,
    sink: Sink,
    /// By kind.
    kinds: Mutex<BTreeMap<&'static str, Kind>>,
}

#[derive(Debug, Default)]
struct Kind {
    said: Option<Time>,
    withheld: Option<Withheld>,
    total: u64,
}

/// Messages that were withheld since the last message of the kind.
#[derive(Debug)]
struct Withheld {
    level: Level,
    first: String,
    count: u64,
}

impl Debug for RateLimitedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimitedLog").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl RateLimitedLog {
    /// Nothing was said yet. It goes by the clock of `runtime`.
    pub fn new(runtime: RuntimeHandle) -> Arc<Self> {
        Self::into_sink(runtime, |level, message| match level {
            Level::WARN => tracing::warn!("{message}"),
            _ => tracing::info!("{message}"),
        })
    }

    fn into_sink(runtime: RuntimeHandle, sink: Sink) -> Arc<Self> {
        Arc::new(Self { runtime, sink, kinds: Mutex::default() })
    }

    /// Logs a warning, unless one of its kind was logged within the last minute: then it is told
    /// of when that is over.
    pub fn warn(self: &Arc<Self>, kind: &'static str, message: impl Display) {
        self.say(Level::WARN, kind, message);
    }

    /// The same for what is no fault.
    pub fn info(self: &Arc<Self>, kind: &'static str, message: impl Display) {
        self.say(Level::INFO, kind, message);
    }

    /// Number of messages of each kind, logged or not.
    pub fn totals(&self) -> Vec<(&'static str, u64)> {
        self.kinds.lock().iter().map(|(kind, of)| (*kind, of.total)).collect()
    }

    fn say(self: &Arc<Self>, level: Level, kind: &'static str, message: impl Display) {
        let now = self.runtime.now();
        let said = {
            let mut kinds = self.kinds.lock();
            let of = kinds.entry(kind).or_default();
            of.total += 1;
            match (of.said, &mut of.withheld) {
                (Some(_), Some(withheld)) => {
                    withheld.count += 1;
                    return;
                }
                (Some(said), none) if now - said < PAUSE => {
                    // Formatted while the others wait, but once a minute.
                    *none = Some(Withheld { level, first: kept(message), count: 1 });
                    said
                }
                (_, none) => {
                    (of.said, *none) = (Some(now), None);
                    drop(kinds);
                    return (self.sink)(level, &printable(&message.to_string()));
                }
            }
        };
        let (pause, warnings) = (PAUSE - (now - said), Arc::downgrade(self));
        let clock = self.runtime.clone();
        self.runtime.spawn("withheld messages", async move {
            clock.sleep(pause).await;
            warnings.upgrade().inspect(|s| s.tell(kind));
        });
    }

    /// Says what was withheld of a kind.
    fn tell(&self, kind: &'static str) {
        let withheld = {
            let mut kinds = self.kinds.lock();
            let of = kinds.entry(kind).or_default();
            of.said = Some(self.runtime.now());
            of.withheld.take()
        };
        match withheld {
            Some(Withheld { level, first, count: 1 }) => (self.sink)(level, &first),
            Some(Withheld { level, first, count }) => {
                let more = count - 1;
                (self.sink)(level, &format!("{first} (and {more} more like it within a minute)"));
            }
            None => {}
        }
    }
}

fn kept(message: impl Display) -> String {
    let mut message = printable(&message.to_string()).into_owned();
    message.truncate(message.floor_char_boundary(MAX_KEPT_BYTES));
    message
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use airlane_runtime::virtual_time;

    thread_local! {
        static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    /// Everything in virtual time happens on one thread.
    fn note(level: Level, message: &str) {
        LINES.with_borrow_mut(|lines| lines.push(format!("{level} {message}")));
    }

    /// Messages that were logged since the last look.
    fn said() -> Vec<String> {
        LINES.take()
    }

    #[test]
    fn a_kind_is_said_once_a_minute_with_a_count_of_the_others() {
        virtual_time::run_alone(|runtime| async move {
            let warnings = RateLimitedLog::into_sink(runtime.clone(), note);
            let minute = Duration::from_secs(60);
            for n in 0..5_000 {
                warnings.warn("stranger", format_args!("nonsense of 10.0.{}.{}", n / 250, n % 250));
                runtime.sleep(Duration::from_millis(1)).await;
            }
            warnings.info("session", "a session began");
            assert_eq!(said(), ["WARN nonsense of 10.0.0.0", "INFO a session began"]);
            // The others are told of without another one of them having to come.
            runtime.sleep(minute).await;
            let rest = "WARN nonsense of 10.0.0.1 (and 4998 more like it within a minute)";
            assert_eq!(said(), [rest]);
            // That was a message of the kind: its minute is not over.
            warnings.warn("stranger", "one more");
            assert_eq!(said(), [""; 0]);
            runtime.sleep(minute).await;
            assert_eq!(said(), ["WARN one more"]);
            runtime.sleep(minute).await;
            warnings.warn("stranger", "after a silence");
            assert_eq!(said(), ["WARN after a silence"]);
            assert_eq!(warnings.totals(), [("session", 1), ("stranger", 5_002)]);
        });
    }

    #[test]
    fn a_strangers_words_begin_no_line_and_command_no_terminal() {
        virtual_time::run_alone(|runtime| async move {
            let warnings = RateLimitedLog::into_sink(runtime.clone(), note);
            for _ in 0..2 {
                warnings.warn("stranger", "no\nWARN all is lost\u{1b}[2J\u{202e}");
                runtime.sleep(PAUSE).await;
            }
            let line = "WARN no\\u{a}WARN all is lost\\u{1b}[2J\\u{202e}";
            assert_eq!(said(), [line, line]);
        });
    }

    #[test]
    fn what_waits_is_bounded() {
        virtual_time::run_alone(|runtime| async move {
            let warnings = RateLimitedLog::into_sink(runtime.clone(), note);
            warnings.warn("long", "x");
            warnings.warn("long", "\u{e4}".repeat(1 << 20));
            runtime.sleep(2 * PAUSE).await;
            let lines = said();
            assert!(lines[1].len() <= "WARN ".len() + MAX_KEPT_BYTES, "{}", lines[1].len());
        });
    }
}

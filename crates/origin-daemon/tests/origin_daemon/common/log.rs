//! What the server logs.

use std::sync::{Arc, Once};

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Takes note of what an operator would read.
pub struct Log(Option<Arc<Mutex<Vec<String>>>>);

impl Log {
    /// One, and where its lines are.
    pub fn read() -> (Self, Arc<Mutex<Vec<String>>>) {
        listen();
        let lines = Arc::default();
        (Self(Some(Arc::clone(&lines))), lines)
    }
}

/// Sets a subscriber for all threads, before any test logs. tracing decides at a message's first use
/// whether anybody listens, and can miss a subscriber that is set at that moment.
pub fn listen() {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| tracing::subscriber::set_global_default(Log(None)).unwrap());
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0 += &format!("{}={value:?} ", field.name());
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("airlane") && *metadata.level() <= Level::INFO
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        if let Some(lines) = &self.0 {
            lines.lock().push(line.0);
        }
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

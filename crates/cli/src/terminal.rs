//! What daemons say on the standard error.

use std::io::IsTerminal;

use airlane_base::printable;

/// Has daemons say on the standard error what happens: `RUST_LOG` chooses how much.
pub(crate) fn log(quiet: bool) {
    use tracing_subscriber::EnvFilter;
    let usual = if quiet { "error" } else { "info" };
    // Of each line of audio of a browser's offer str0m warns that it leaves out RED (RFC 2198).
    let usual = format!("{usual},str0m=error");
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(usual));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .fmt_fields(fields())
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(colours)
        .with_writer(std::io::stderr)
        .init();
}

/// Writes what an event says, in which a peer's words may be: a line each, that commands no terminal.
fn fields() -> impl for<'writer> tracing_subscriber::fmt::FormatFields<'writer> + 'static {
    use tracing_subscriber::field::MakeExt;
    use tracing_subscriber::fmt::format::debug_fn;
    let write = |writer: &mut tracing_subscriber::fmt::format::Writer<'_>,
                 field: &tracing::field::Field,
                 value: &dyn std::fmt::Debug| {
        let text = format!("{value:?}");
        let text = printable(&text);
        match field.name() {
            "message" => write!(writer, "{text}"),
            name => write!(writer, "{name}={text}"),
        }
    };
    debug_fn(write).delimited(" ")
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_peer_says_is_logged_as_one_line_that_commands_nothing() {
        let kept = Kept::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt()
            .fmt_fields(fields())
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(log, || {
            let words = "no\nERROR all is lost\u{1b}[2J\u{202e}";
            tracing::warn!(%words, "a peer says {words}");
        });
        let said = String::from_utf8(kept.0.lock().clone()).unwrap();
        let shown = "no\\u{a}ERROR all is lost\\u{1b}[2J\\u{202e}";
        assert_eq!(said, format!(" WARN a peer says {shown} words={shown}\n"));
    }
}

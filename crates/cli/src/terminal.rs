//! What daemons say on the standard error.

use std::io::IsTerminal;

use airlane_base::printable;

/// Has daemons say on the standard error what happens: `RUST_LOG` chooses how much.
pub(crate) fn log(quiet: bool) {
    use tracing_subscriber::EnvFilter;
    let usual = if quiet { "error" } else { "info" };
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

//! What the bench ran on, in one line.

use airlane_sim::pool::available_cores;

/// Processor, cores, memory, system and how busy it was, as far as the system tells.
pub(crate) fn describe() -> String {
    let mut parts = vec![
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        format!("{} cores", available_cores()),
    ];
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|kib| kib.split_whitespace().next()?.parse::<f64>().ok());
    if let Some(kib) = memory {
        parts.push(format!("{:.0} GiB", kib / f64::from(1 << 20)));
    }
    if let Some(release) = first_line("/proc/sys/kernel/osrelease") {
        parts.push(format!("{} {release}", std::env::consts::OS));
    }
    if let Some(load) = first_line("/proc/loadavg").as_deref().and_then(|l| l.split(' ').next()) {
        parts.push(format!("load {load} at the start"));
    }
    parts.join(", ")
}

/// Value that follows `name:` in a file of such lines.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

fn first_line(file: &str) -> Option<String> {
    std::fs::read_to_string(file).ok()?.lines().next().map(str::to_owned)
}

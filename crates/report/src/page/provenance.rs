//! Where the figures come from.

use std::fmt::Write as _;

use super::text::{element, escape};
use crate::model::Provenance;

/// Appends the section; nothing if there is no provenance.
pub fn provenance(out: &mut String, all: &[Provenance]) {
    if all.is_empty() {
        return;
    }
    out.push_str(
        "<section id=\"provenance\"><h2>Where these figures come from</h2>\n\
         <p class=\"note\">The same command with the same commit and seed gives the same packets: \
         the packet hash covers when each packet was where, and what became of it.</p>\n",
    );
    for one in all {
        entry(out, one);
    }
    out.push_str("</section>\n");
}

fn entry(out: &mut String, p: &Provenance) {
    out.push_str("<article class=\"origin\">");
    element(out, "h3", "", &p.label);
    out.push_str("<dl>");
    if !p.command.is_empty() {
        let _ = write!(
            out,
            "<dt>Repeat it</dt><dd class=\"copy\"><code>{}</code><button type=\"button\" \
             class=\"copy\" hidden>Copy</button></dd>",
            escape(&p.command)
        );
    }
    let seeds = p.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    for (name, value, code) in [
        ("Scenario", p.scenario.as_str(), true),
        (if p.seeds.len() == 1 { "Seed" } else { "Seeds" }, &seeds, true),
        ("Content", &p.content, false),
        ("Trace", &p.trace, false),
        ("Airlane", &p.airlane, true),
        ("Commit", &p.commit, true),
        (
            if p.packet_hashes.len() == 1 { "Packet hash" } else { "Packet hashes" },
            &p.packet_hashes.join(" "),
            true,
        ),
    ] {
        pair(out, name, value, code);
    }
    for fact in &p.more {
        pair(out, &fact.name, &fact.value, false);
    }
    out.push_str("</dl>");
    if !p.scenario_text.is_empty() {
        // The first line break after <pre> is dropped by HTML, so one is given.
        let _ = write!(
            out,
            "<details><summary>The scenario, whole</summary><pre tabindex=\"0\">\n{}</pre></details>",
            escape(&p.scenario_text)
        );
    }
    out.push_str("</article>\n");
}

fn pair(out: &mut String, name: &str, value: &str, code: bool) {
    if value.is_empty() {
        return;
    }
    let (name, value) = (escape(name), escape(value));
    let _ = if code {
        write!(out, "<dt>{name}</dt><dd><code>{value}</code></dd>")
    } else {
        write!(out, "<dt>{name}</dt><dd>{value}</dd>")
    };
}

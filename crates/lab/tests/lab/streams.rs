//! The streams that claims draw from: verdicts stand only as long as these do.

use std::fmt::Write;
use std::path::Path;

use airlane_judge::claims::{ClaimSet, Purpose};

/// The streams of all claims. A claim whose rule or scene changes has another on purpose: write the
/// file anew with `AIRLANE_WRITE_STREAMS=1`. Where nothing but a name has changed, add what it was
/// called to `identity/names.rs`.
#[test]
fn claims_draw_from_the_streams_that_are_recorded() {
    let mut found = String::new();
    for (system, _) in airlane_lab::registry().claims() {
        let set = ClaimSet::of_system(airlane_lab::registry(), system).unwrap();
        for claim in &set.claims {
            let stream = set.stream(claim, Purpose::Verdict).unwrap();
            writeln!(found, "{} {}", claim.id, stream.name()).unwrap();
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/streams.txt");
    if std::env::var_os("AIRLANE_WRITE_STREAMS").is_some() {
        std::fs::write(&file, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(&file).unwrap();
    let differs: Vec<_> =
        recorded.lines().zip(found.lines()).filter(|(then, now)| then != now).collect();
    assert!(differs.is_empty(), "recorded, and now: {differs:#?}");
    assert_eq!(recorded.lines().count(), found.lines().count());
}

//! Any text as CMCD, in a header field and in a query.
#![no_main]

use airlane_apps::cmcd::Cmcd;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let read = Cmcd::parse(&text);
    // What was understood once is understood again.
    assert_eq!(Cmcd::from_query(&read.to_query()).map(|c| c.to_text()), Some(read.to_text()));
    let _ = Cmcd::from_query(&text);
});

//! Any sequence of CMCD reports as a player's: its state stays sound.
#![no_main]

use std::time::Duration;

use airlane_apps::cmcd::Cmcd;
use airlane_apps::vod::Viewer;
use airlane_base::Time;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut viewer = Viewer::default();
    let mut now = Time::ZERO;
    for (i, cmcd) in Cmcd::of_post(&text).iter().enumerate() {
        now += Duration::from_millis(700);
        let chunk = cmcd.chunks_played.map_or(i, |n| n as usize);
        let request = viewer.on_request(now, (i % 5, chunk), Duration::from_secs(4), cmcd);
        assert_eq!(request.chunk, chunk);
        viewer.on_report(cmcd);
        assert!((0.0..=16.0).contains(&viewer.watching().pace));
    }
});

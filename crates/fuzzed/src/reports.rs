//! The reports of a player (CMCD in event mode), and what a server makes of them.

use std::time::Duration;

use airlane_base::Time;
use airlane_origin::Viewer;
use airlane_origin::cmcd::Cmcd;

/// Any sequence of CMCD reports as a player's: its state stays sound.
pub fn reports(data: &[u8]) {
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
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    crate::texts(&[
        "sid=\"a\",e=t,bl=(4000),sta=p,pr=1,ts=1700000000000\nsid=\"a\",sta=r,bsd=(700)\n",
        "bl=21300,bs,com.airlane-rb=1.5,su,bg,pr=2,sid=\"b\"\n",
    ])
}

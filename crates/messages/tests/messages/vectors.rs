//! The packets that `docs/reference/wire/messages.md` shows.

use airlane_base::Ecn;
use airlane_messages::Protection;
use airlane_octopus::Marking;
use bytes::Bytes;

use crate::link::{address, ms, pair_with};

const MARKING: Marking = Marking { priority: 3, drops: Some(2), bitrate_kbps: 7_500, slack_ms: 0 };

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// A message and its acknowledgement.
fn exchanged(sealed: bool) -> [String; 2] {
    let (mut sender, mut receiver) = pair_with(if sealed { None } else { Some(Protection::Null) });
    let mut packet = Vec::new();
    sender.send(ms(0), 1, MARKING, Bytes::from_static(b"hello")).unwrap();
    assert!(sender.poll_transmit(ms(0), &mut packet).is_some());
    let data = hex(&packet);
    receiver.handle(ms(20), address(1), Ecn::NotEct, &mut packet).unwrap();
    let mut ack = Vec::new();
    assert!(receiver.poll_transmit(ms(25), &mut ack).is_some());
    [data, hex(&ack)]
}

#[test]
fn the_page_has_the_packets_that_are_sent() {
    let page = include_str!("../../../../docs/reference/wire/messages.md");
    let packets = [exchanged(true), exchanged(false)].into_iter().flatten();
    let missing: Vec<_> = packets.filter(|p| !page.contains(&format!("`{p}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/wire/messages.md lacks {missing:#?}");
}

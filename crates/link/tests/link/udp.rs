//! The forwarder over loopback.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_base::{DropReason, Rate, Seed};
use airlane_link::{Link, LinkConfig, LinkError, LinkSpec, Mode, Reason, UdpSpec, Way};
use airlane_net::{Limit, QueueSpec};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};

use crate::common::{
    TEST_TIMEOUT, addr, conserves, forwarder, open, port, socket, totals_when, wide,
};

/// Receives one datagram at each end: there and back.
fn echo(client: &UdpSocket, link: SocketAddr, target: &UdpSocket, payload: &[u8]) {
    let mut buffer = vec![0; 65_536];
    client.send_to(payload, link).expect("sent");
    let (n, from) = target.recv_from(&mut buffer).expect("arrives");
    assert_eq!(&buffer[..n], payload);
    target.send_to(&buffer[..n], from).expect("sent back");
    let (n, from) = client.recv_from(&mut buffer).expect("comes back");
    assert_eq!((&buffer[..n], from), (payload, link));
}

#[test]
fn datagrams_of_all_sizes_go_there_and_back_over_both_families() {
    for (here, there) in
        [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "127.0.0.1:0"), ("127.0.0.1:0", "[::1]:0")]
    {
        let target = socket(there);
        let mut link = forwarder(open(), here, &target);
        let client = socket(here);
        let to = link.address().expect("an address");
        let sizes = [0, 1, 1_200, 1_472, 9_000, 40_000];
        for size in sizes {
            echo(&client, to, &target, &vec![size as u8; size]);
        }
        let totals = link.totals().expect("at work");
        let bytes: u64 = sizes.iter().map(|n| *n as u64 + 28).sum();
        for way in [&totals.up, &totals.down] {
            assert_eq!((way.received, way.delivered), ((6, bytes), (6, bytes)));
            assert_eq!(way.lateness.count(), 6);
        }
        assert_eq!(totals.clients.now, 1);
        conserves(&link.stop().expect("stops"));
    }
}

#[test]
fn answers_come_from_the_address_that_was_asked() {
    for (listen, asked, client) in [
        ("0.0.0.0:0", "127.0.0.2", "127.0.0.1:0"),
        ("[::]:0", "::1", "[::1]:0"),
        ("[::]:0", "127.0.0.3", "127.0.0.1:0"),
    ] {
        let target = socket("127.0.0.1:0");
        let link = forwarder(open(), listen, &target);
        let to = SocketAddr::new(asked.parse().expect("an address"), port(&link));
        let client = socket(client);
        // A connected socket takes nothing from anyone else.
        client.connect(to).expect("connects");
        echo(&client, to, &target, b"who are you?");
    }
}

#[test]
fn a_forwarder_listens_at_all_of_its_addresses_on_one_port() {
    let target = socket("127.0.0.1:0");
    // The last is none of this machine's, as ::1 is where there is no IPv6.
    let listen = ["127.0.0.1:0", "127.0.0.2:0", "192.0.2.1:0"].map(addr);
    let spec = UdpSpec::new(listen, target.local_addr().expect("bound"));
    let mut link = crate::common::start(open(), spec);
    let at = link.addresses().to_vec();
    let ips: Vec<String> = at.iter().map(|a| a.ip().to_string()).collect();
    assert_eq!(ips, ["127.0.0.1", "127.0.0.2"]);
    assert_eq!(at[0].port(), at[1].port());
    // One socket that asks at both is two clients, each answered from where it asked.
    let client = socket("127.0.0.1:0");
    for round in 0..20_u8 {
        for to in &at {
            echo(&client, *to, &target, &[round; 300]);
        }
    }
    let totals = link.totals().expect("at work");
    assert_eq!((totals.clients.now, totals.up.delivered.0), (2, 40));
    conserves(&link.stop().expect("stops"));
}

#[test]
fn clients_do_not_get_each_others_answers() {
    let target = socket("127.0.0.1:0");
    let mut link = forwarder(open(), "127.0.0.1:0", &target);
    let to = link.address().expect("an address");
    let clients: Vec<UdpSocket> = (0..20).map(|_| socket("127.0.0.1:0")).collect();
    let mut buffer = [0; 64];
    for (i, client) in clients.iter().enumerate() {
        client.send_to(&[i as u8], to).expect("sent");
    }
    let mut from = Vec::new();
    for _ in &clients {
        let (_, address) = target.recv_from(&mut buffer).expect("arrives");
        from.push((buffer[0], address));
    }
    for (i, address) in from.iter().rev() {
        target.send_to(&[*i, 99], *address).expect("sent back");
    }
    for (i, client) in clients.iter().enumerate() {
        let (n, _) = client.recv_from(&mut buffer).expect("comes back");
        assert_eq!(buffer[..n], [i as u8, 99]);
    }
    let totals = link.totals().expect("at work");
    assert_eq!((totals.clients.now, totals.clients.seen), (20, 20));
}

#[test]
fn ecn_is_carried_both_ways_and_joined_datagrams_are_taken_apart() {
    let target = socket("127.0.0.1:0");
    let mut link = forwarder(open(), "127.0.0.1:0", &target);
    let to = link.address().expect("an address");
    let client = socket("127.0.0.1:0");
    let sender = UdpSocketState::new((&client).into()).expect("options");
    let receiver = UdpSocketState::new((&target).into()).expect("options");
    target.set_nonblocking(false).expect("waits");
    // Ten of 1000 bytes and one of 300 in one call.
    let mut contents = Vec::new();
    for i in 0..11_u8 {
        contents.resize(contents.len() + if i == 10 { 300 } else { 1_000 }, i);
    }
    let joined = sender.max_gso_segments() > 1;
    let chunk = if joined { contents.len() } else { 1_000 };
    for (code, contents) in
        [EcnCodepoint::Ect0, EcnCodepoint::Ce].into_iter().map(|code| (code, &contents))
    {
        for part in contents.chunks(chunk) {
            let transmit = Transmit {
                destination: to,
                ecn: Some(code),
                contents: part,
                segment_size: Some(1_000),
                src_ip: None,
            };
            sender.try_send((&client).into(), &transmit).expect("sent");
        }
    }
    let mut got = Vec::new();
    while got.len() < 22 {
        let mut buffer = vec![0; 65_536];
        let mut meta = [RecvMeta::default()];
        let mut slices = [io::IoSliceMut::new(&mut buffer)];
        receiver.recv((&target).into(), &mut slices, &mut meta).expect("arrives");
        for datagram in buffer[..meta[0].len].chunks(meta[0].stride) {
            got.push((meta[0].ecn, datagram[0], datagram.len()));
        }
    }
    let size = |i: u8| if i == 10 { 300 } else { 1_000 };
    let want = |code| (0..11).map(move |i| (Some(code), i, size(i)));
    let want: Vec<_> = want(EcnCodepoint::Ect0).chain(want(EcnCodepoint::Ce)).collect();
    assert_eq!(got, want);
    let totals = link.totals().expect("at work");
    // The link saw single datagrams.
    assert_eq!(totals.up.received, (22, 2 * (10 * 1_028 + 328)));
    conserves(&totals);
}

#[test]
fn what_overflows_is_dropped_with_its_reason_and_the_rest_keeps_its_order() {
    let slow = Way::new(Rate::from_mbps(8.0), QueueSpec::DropTail(Limit::Packets(20)));
    let target = socket("127.0.0.1:0");
    let mut link = forwarder(LinkSpec::new(slow, wide(), Seed(1)), "127.0.0.1:0", &target);
    let client = socket("127.0.0.1:0");
    let to = link.address().expect("an address");
    for i in 0..200_u32 {
        let mut payload = [0; 972];
        payload[..4].copy_from_slice(&i.to_be_bytes());
        client.send_to(&payload, to).expect("sent");
    }
    let totals =
        totals_when(&mut link, "200 packets", |t| t.up.received.0 == 200 && t.up.held.0 == 0);
    conserves(&totals);
    let overflow = totals.up.dropped.of(Reason::Link(DropReason::Overflow));
    assert_eq!(totals.up.dropped.total(), overflow);
    assert!(overflow.0 > 0, "200 packets came faster than one per millisecond");
    let mut numbers = Vec::new();
    let mut buffer = [0; 2_000];
    for _ in 0..totals.up.delivered.0 {
        let n = target.recv(&mut buffer).expect("arrives");
        assert_eq!(n, 972);
        numbers.push(u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]));
    }
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let report = totals.up.link.report();
    assert_eq!(report.carried_packets, totals.up.delivered.0);
    assert!(report.sojourn_quantile(1.0) > Duration::from_millis(15), "the queue was full");
}

#[test]
fn a_full_table_forgets_the_client_not_heard_of_for_longest() {
    let target = socket("127.0.0.1:0");
    let target_address = target.local_addr().expect("bound");
    let spec = UdpSpec { max_clients: 2, ..UdpSpec::new([addr("127.0.0.1:0")], target_address) };
    let mut link = crate::common::start(open(), spec);
    let to = link.address().expect("an address");
    let clients: Vec<UdpSocket> = (0..3).map(|_| socket("127.0.0.1:0")).collect();
    for client in &clients {
        echo(client, to, &target, b"here I am");
    }
    let totals = link.totals().expect("at work");
    assert_eq!((totals.clients.now, totals.clients.seen, totals.clients.evicted), (2, 3, 1));
    // Who was forgotten may come back.
    echo(&clients[0], to, &target, b"again");
    let totals = link.totals().expect("at work");
    assert_eq!((totals.clients.now, totals.clients.seen, totals.clients.evicted), (2, 4, 2));
}

#[test]
fn silent_clients_are_forgotten() {
    let target = socket("127.0.0.1:0");
    let target_address = target.local_addr().expect("bound");
    let idle = Duration::from_millis(50);
    let spec = UdpSpec { idle, ..UdpSpec::new([addr("127.0.0.1:0")], target_address) };
    let mut link = crate::common::start(open(), spec);
    let to = link.address().expect("an address");
    let client = socket("127.0.0.1:0");
    client.send_to(b"hello", to).expect("sent");
    let totals = totals_when(&mut link, "silence", |t| t.clients.expired == 1);
    assert_eq!((totals.clients.now, totals.clients.seen), (0, 1));
    conserves(&totals);
    let mut buffer = [0; 16];
    target.recv(&mut buffer).expect("the first datagram");
    // It may come back. A busy machine may take longer for an answer than a client may be silent, now and
    // then.
    client.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let comes_back = |_| {
        client.send_to(b"again", to).expect("sent");
        let (n, from) = target.recv_from(&mut buffer).expect("arrives");
        target.send_to(&buffer[..n], from).expect("sent back");
        client.recv(&mut buffer).is_ok_and(|n| &buffer[..n] == b"again")
    };
    assert!((0..60).any(comes_back), "no answer comes back");
}

#[test]
fn packets_for_a_forgotten_client_are_unreachable() {
    let target = socket("127.0.0.1:0");
    let target_address = target.local_addr().expect("bound");
    // The second comes meanwhile, on any machine.
    let delay = Duration::from_secs(5);
    let spec = LinkSpec::new(Way { delay, ..wide() }, wide(), Seed(1));
    let udp = UdpSpec { max_clients: 1, ..UdpSpec::new([addr("127.0.0.1:0")], target_address) };
    let mut link = crate::common::start(spec, udp);
    let to = link.address().expect("an address");
    let (first, second) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
    first.send_to(b"lost", to).expect("sent");
    totals_when(&mut link, "the first client", |t| t.clients.seen == 1);
    second.send_to(b"kept", to).expect("sent");
    let totals = totals_when(&mut link, "both fates", |t| t.up.received.0 == 2 && t.up.held.0 == 0);
    let gone = totals.up.dropped.of(Reason::Link(DropReason::Unreachable));
    assert_eq!((gone, totals.up.delivered), ((1, 32), (1, 32)));
    conserves(&totals);
}

#[test]
fn a_target_that_is_not_there_yet_does_no_harm() {
    let place = socket("127.0.0.1:0");
    let target_address = place.local_addr().expect("bound");
    drop(place);
    let spec = UdpSpec::new([addr("127.0.0.1:0")], target_address);
    let mut link = crate::common::start(open(), spec);
    let to = link.address().expect("an address");
    let client = socket("127.0.0.1:0");
    for i in 1..=50 {
        client.send_to(b"anyone?", to).expect("sent");
        // One at a time, so that each finds the message about the one before.
        totals_when(&mut link, "the next packet", |t| t.up.received.0 == i && t.up.held.0 == 0);
    }
    conserves(&link.totals().expect("at work"));
    let target = socket(&target_address.to_string());
    echo(&client, to, &target, b"now?");
}

#[test]
fn stopping_in_full_traffic_loses_count_of_nothing() {
    let target = socket("127.0.0.1:0");
    let way = Way { delay: Duration::from_millis(5), ..wide() };
    let mut link = forwarder(LinkSpec::new(way.clone(), way, Seed(1)), "127.0.0.1:0", &target);
    let to = link.address().expect("an address");
    let done = AtomicBool::new(false);
    let totals = std::thread::scope(|scope| {
        scope.spawn(|| {
            let client = socket("127.0.0.1:0");
            while !done.load(Ordering::Relaxed) {
                // Refused when the forwarder is gone.
                let _ = client.send_to(&[1; 1_200], to);
            }
        });
        totals_when(&mut link, "traffic", |t| t.up.received.0 > 500);
        let totals = link.stop().expect("stops");
        done.store(true, Ordering::Relaxed);
        totals
    });
    conserves(&totals);
    assert!(totals.up.received.0 > 500);
    assert!(UdpSocket::bind(to).is_ok(), "the port is free again");
}

#[test]
fn what_the_thread_could_not_read_is_missed() {
    let target = socket("127.0.0.1:0");
    let mut link = forwarder(open(), "127.0.0.1:0", &target);
    let to = link.address().expect("an address");
    let client = socket("127.0.0.1:0");
    let sent = 30_000;
    for _ in 0..sent {
        client.send_to(&[1; 1_400], to).expect("sent");
    }
    // Read or missed: the kernel loses nothing in silence on its way to the socket.
    let totals = totals_when(&mut link, "all packets", |t| {
        t.up.received.0 + t.up.missed == sent && t.up.held.0 == 0
    });
    conserves(&totals);
}

#[test]
fn bad_requests_are_refused_with_a_reason() {
    let target = socket("127.0.0.1:0");
    let target_address = target.local_addr().expect("bound");
    let taken = target_address;
    let refused = |listen: SocketAddr, target: SocketAddr, realtime: Option<u8>| {
        let mode = Mode::Udp(UdpSpec::new([listen], target));
        let error = Link::start(&LinkConfig { link: open(), mode, realtime });
        let error: LinkError = error.map(drop).expect_err("bad");
        assert!(error.is_input());
        error.to_string()
    };
    let message = refused(taken, addr("127.0.0.1:9"), None);
    assert!(message.starts_with(&format!("cannot listen on {taken}: ")), "{message}");
    assert!(message.ends_with("; stop what uses the port, or choose another"), "{message}");
    let spec = UdpSpec::new([addr("127.0.0.1:0"), taken], target_address);
    let both = Link::start(&LinkConfig { link: open(), mode: Mode::Udp(spec), realtime: None });
    assert!(both.is_err(), "one of the addresses is the target's own");
    let message = refused(addr("192.0.2.1:0"), target_address, None);
    assert!(message.contains("expected an address of this machine"), "{message}");
    let message = refused(addr("127.0.0.1:0"), addr("127.0.0.1:0"), None);
    assert!(message.starts_with("target: 127.0.0.1:0 is nowhere to send to"), "{message}");
    let message = refused(taken, taken, None);
    assert!(message.starts_with("target: "), "{message}");
    let message = refused(addr("127.0.0.1:0"), target_address, Some(100));
    assert!(message.starts_with("realtime: 100 is no real-time priority"), "{message}");
}

#[test]
fn an_interval_is_the_difference_of_two_totals() {
    let target = socket("127.0.0.1:0");
    let mut link = forwarder(open(), "127.0.0.1:0", &target);
    let to = link.address().expect("an address");
    let client = socket("127.0.0.1:0");
    echo(&client, to, &target, &[0; 972]);
    let before = link.totals().expect("at work");
    for _ in 0..3 {
        echo(&client, to, &target, &[0; 972]);
    }
    let after = link.stop().expect("stops");
    let figures = after.since(&before);
    assert_eq!((figures.up.received_packets, figures.up.delivered_packets), (3, 3));
    assert_eq!(figures.up.offered, Rate::of(3_000, figures.span));
    assert_eq!(figures.down.delivered, figures.up.offered);
    assert!(figures.up.lateness[0] <= figures.up.lateness[2]);
    let line = figures.to_string();
    assert!(line.contains("1 clients, cpu ") && !line.contains("dropped"), "{line}");
    assert!(after.at.since_start() < TEST_TIMEOUT);
}

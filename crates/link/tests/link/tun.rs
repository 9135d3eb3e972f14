//! A pair of devices between namespaces. Needs root; without it the tests say so and pass, unless
//! `AIRLANE_STRICT=1` asks for them.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use airlane_base::{DropReason, Rate, Seed};
use airlane_link::{
    Link, LinkConfig, LinkError, LinkSpec, Mode, Reason, TunEnd, TunSpec, Way, WayTotals,
};
use airlane_net::{Limit, QueueSpec};
use proptest::prelude::*;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::common::{TEST_TIMEOUT, addr, conserves, open, totals_when, wide};

/// Names of this test's own: tests run at the same time.
fn names(test: &str) -> [String; 2] {
    let id = std::process::id() % 10_000;
    ["l", "r"].map(|side| format!("{test}{side}{id}"))
}

fn request(link: LinkSpec, test: &str, addresses: [&str; 2]) -> LinkConfig {
    let [near, far] = names(test);
    let end = |name: &str, address: &str| -> TunEnd {
        format!("{name}@{name}={address}").parse().expect("an end")
    };
    let tun = TunSpec::new(end(&near, addresses[0]), end(&far, addresses[1]));
    LinkConfig { link, mode: Mode::Tun(tun), realtime: None }
}

/// Starts it; `None`, with a word about it, where that is not permitted.
fn start(request: &LinkConfig) -> Option<Link> {
    match Link::start(request) {
        Ok(link) => Some(link),
        Err(e) => {
            let strict = std::env::var_os("AIRLANE_STRICT").is_some_and(|v| v == "1");
            assert!(!strict, "{e}");
            eprintln!("skipped: {e}");
            None
        }
    }
}

/// Does something in a namespace, on a thread of its own.
fn within<T: Send + 'static>(
    name: &str,
    act: impl FnOnce() -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    let file = File::open(Path::new("/run/netns").join(name)).expect("the namespace");
    std::thread::spawn(move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("enters");
        act()
    })
}

/// Sends so many bytes over TCP from the left to the right, and checks that they arrive.
fn tcp(test: &str, right: SocketAddr, bytes: usize) {
    let [l, r] = names(test);
    let (ready, listening) = std::sync::mpsc::channel();
    let server = within(&r, move || {
        let listener = TcpListener::bind(right).expect("listens");
        ready.send(()).expect("heard");
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("reads");
        stream.write_all(b"thanks").expect("answers");
        got
    });
    listening.recv().expect("the server listens");
    let sent: Vec<u8> = (0..bytes).map(|i| (i * i % 251) as u8).collect();
    let copy = sent.clone();
    let client = within(&l, move || {
        let mut stream = TcpStream::connect_timeout(&right, TEST_TIMEOUT).expect("connects");
        stream.write_all(&sent).expect("writes");
        stream.shutdown(Shutdown::Write).expect("ends");
        let mut answer = String::new();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
        stream.read_to_string(&mut answer).expect("reads");
        answer
    });
    assert_eq!(server.join().expect("the server"), copy);
    assert_eq!(client.join().expect("the client"), "thanks");
}

#[test]
fn tcp_crosses_a_link_with_delay_and_loss() {
    let way = Way {
        delay: Duration::from_millis(5),
        impairments: vec![airlane_net::Impairment::Bernoulli(0.01)],
        ..Way::new(Rate::from_mbps(100.0), QueueSpec::DropTail(Limit::Packets(100)))
    };
    let link = LinkSpec::new(way.clone(), way, Seed(1));
    let request = request(link, "tcp", ["10.77.1.1/24", "10.77.1.2/24"]);
    let Some(mut link) = start(&request) else { return };
    assert_eq!(link.address(), None);
    tcp("tcp", addr("10.77.1.2:5000"), 2_000_000);
    let totals = totals_when(&mut link, "the last packets", |t| t.up.held.0 + t.down.held.0 == 0);
    conserves(&totals);
    assert!(totals.up.received.1 > 2_000_000);
    assert!(totals.up.dropped.of(Reason::Link(DropReason::Loss)).0 > 0);
    assert_eq!((totals.up.missed, totals.clients.seen), (0, 0));
    link.stop().expect("stops");
    for name in names("tcp") {
        assert!(!Path::new("/run/netns").join(name).exists(), "what was made is removed");
    }
}

#[test]
fn tcp_crosses_a_half_duplex_pair() {
    let way = Way {
        delay: Duration::from_millis(2),
        ..Way::new(Rate::from_mbps(100.0), QueueSpec::DropTail(Limit::Packets(100)))
    };
    let link = LinkSpec { half_duplex: true, ..LinkSpec::new(way.clone(), way, Seed(1)) };
    let Some(mut link) = start(&request(link, "half", ["10.77.4.1/24", "10.77.4.2/24"])) else {
        return;
    };
    tcp("half", addr("10.77.4.2:5000"), 500_000);
    let totals = totals_when(&mut link, "the last packets", |t| t.up.held.0 + t.down.held.0 == 0);
    conserves(&totals);
    let used = |way: &WayTotals| way.link.report().utilisation;
    assert!(used(&totals.up) > 0.0 && used(&totals.down) > 0.0);
    assert!(used(&totals.up) + used(&totals.down) <= 1.0);
    link.stop().expect("stops");
}

#[test]
fn ip_packets_count_as_they_are_over_both_families() {
    let addresses = ["10.77.2.1/24,fd77:2::1/64", "10.77.2.2/24,fd77:2::2/64"];
    let Some(mut link) = start(&request(open(), "udp", addresses)) else { return };
    let [l, r] = names("udp");
    let mut before = totals_when(&mut link, "calm", |t| t.up.held.0 + t.down.held.0 == 0);
    for (to, headers) in [("10.77.2.2:7000", 28), ("[fd77:2::2]:7000", 48)] {
        let to = addr(to);
        let (ready, listening) = std::sync::mpsc::channel();
        let server = within(&r, move || {
            // An address of IPv6 is of use once the kernel knows that none other has it.
            let socket = std::iter::repeat_with(|| UdpSocket::bind(to)).find_map(Result::ok);
            let socket = socket.expect("endless");
            socket.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
            ready.send(()).expect("heard");
            let mut buffer = [0; 2_000];
            let (n, from) = socket.recv_from(&mut buffer).expect("arrives");
            socket.send_to(&buffer[..n], from).expect("sent back");
        });
        listening.recv().expect("the server listens");
        let client = within(&l, move || {
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any).expect("a port");
            socket.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
            let sent =
                std::iter::repeat_with(|| socket.send_to(&[9; 1_000], to)).find(Result::is_ok);
            assert!(sent.is_some());
            socket.recv(&mut [0; 2_000]).expect("comes back")
        });
        assert_eq!(client.join().expect("the client"), 1_000);
        server.join().expect("the server");
        let after = totals_when(&mut link, "calm", |t| t.up.held.0 + t.down.held.0 == 0);
        conserves(&after);
        let size = 1_000 + headers;
        let up = after.up.received.1 - before.up.received.1;
        // IPv6 has some words of its own to say.
        assert!(if headers == 28 { up == size } else { up >= size }, "{up} of {size}");
        before = after;
    }
}

#[test]
fn a_link_whose_device_is_removed_ends_and_says_why() {
    let request = request(open(), "gone", ["10.77.3.1/24", "10.77.3.2/24"]);
    let Some(mut link) = start(&request) else { return };
    let [near, _] = names("gone");
    let arguments = ["-n", &near, "link", "delete", &near];
    let removed = std::process::Command::new("ip").args(arguments).status();
    assert!(removed.is_ok_and(|status| status.success()));
    assert!(link.wait(TEST_TIMEOUT), "the link ends by itself");
    let error = link.totals().expect_err("ended").to_string();
    assert!(error.starts_with("the link stopped: cannot read from a device"), "{error}");
}

#[test]
fn bad_pairs_are_refused_with_a_reason() {
    let refused = |near: &str, far: &str, mtu: u16| {
        let (near, far) = (near.parse().expect("an end"), far.parse().expect("an end"));
        let mode = Mode::Tun(TunSpec { mtu, ..TunSpec::new(near, far) });
        let link = LinkSpec::new(wide(), wide(), Seed(1));
        let error = Link::start(&LinkConfig { link, mode, realtime: None });
        let error: LinkError = error.map(drop).expect_err("bad");
        assert!(error.is_input());
        error.to_string()
    };
    let message = refused("air0", "air1", 1_500);
    assert!(
        message.starts_with("far: both ends in the link's own namespace; expected "),
        "{message}"
    );
    let message = refused("air0@x", "air1@x", 1_500);
    assert!(message.starts_with("far: both ends in the namespace x"), "{message}");
    let message = refused("air0@x", "air1@y", 500);
    assert!(message.starts_with("mtu_bytes: 500 is too small"), "{message}");
    let message = refused("air0@x=10.0.0.1/8,10.0.0.2/8", "air1@y", 1_500);
    assert!(message.starts_with("near: several IPv4 addresses"), "{message}");
    // Either it is not permitted at all, or what exists already is named.
    let message = refused("lo", "air1@nowhere-at-all", 1_500);
    assert!(message.starts_with("cannot make the device lo: "), "{message}");
}

#[test]
fn ends_are_read_and_bad_ones_named() {
    let end: TunEnd = "air0@left=10.77.0.1/24,fd00::1/64".parse().expect("an end");
    assert_eq!((end.name.as_str(), end.namespace.as_deref()), ("air0", Some("left")));
    assert_eq!(end.addresses.len(), 2);
    for (text, says) in [
        ("", "expected a device's name"),
        ("a-name-that-is-too-long", "expected a device's name: 1 to 15"),
        ("air0@", "expected a namespace's name"),
        ("air0@../../etc", "expected a namespace's name"),
        ("-n", "expected a device's name"),
        ("air0=10.77.0.1", "expected an address and the length of its prefix"),
        ("air0=10.77.0.1/33", "`10.77.0.1/33`; expected an address"),
        ("air0=host/24", "`host/24`; expected an address"),
    ] {
        let error = text.parse::<TunEnd>().expect_err("bad").to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_an_end_or_an_error(text in ".{0,40}") {
        if let Ok(end) = text.parse::<TunEnd>() {
            prop_assert_eq!(end.to_string().parse::<TunEnd>(), Ok(end));
        }
    }

    #[test]
    fn ends_are_written_as_they_are_read(
        name in "[a-z][a-z0-9_.-]{0,14}",
        namespace in proptest::option::of("[a-z0-9][a-z0-9_.-]{0,20}"),
        addresses in proptest::collection::vec((any::<std::net::IpAddr>(), 0_u8..=32), 0..4),
    ) {
        let end = TunEnd { name, namespace, addresses };
        prop_assert_eq!(end.to_string().parse::<TunEnd>(), Ok(end));
    }
}

//! The pair of state machines under every interleaving of messages, and under random ones.

use std::collections::BTreeSet;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{ClientControl, Decision, Epoch, Notice, ServerControl, State};
use proptest::prelude::*;

const UP: Rate = Rate::from_bps(2_000_000);
const DOWN: Rate = Rate::from_bps(3_000_000);

/// A client, its server, and what is under way between them. Whatever is under way may arrive in any order, any
/// number of times, or never.
#[derive(Clone)]
struct Pair {
    server: ServerControl,
    client: ClientControl,
    notices: Vec<Notice>,
    acknowledgements: Vec<Epoch>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Decide(Decision),
    /// The server sends a header.
    SendNotice,
    /// The notice of this number arrives, and may arrive again.
    Arrive(usize),
    /// The client sends a header.
    SendEpoch,
    /// The acknowledgement of this number arrives, and may arrive again.
    Acknowledge(usize),
}

const DECISIONS: [Decision; 3] = [Decision::Natural, Decision::Client(UP), Decision::Server(DOWN)];

impl Pair {
    fn new() -> Self {
        Self {
            server: ServerControl::default(),
            client: ClientControl::default(),
            notices: Vec::new(),
            acknowledgements: Vec::new(),
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<_> = DECISIONS.into_iter().map(Step::Decide).collect();
        steps.push(Step::SendNotice);
        steps.extend((0..self.notices.len()).map(Step::Arrive));
        if self.client.epoch().is_some() {
            steps.push(Step::SendEpoch);
        }
        steps.extend((0..self.acknowledgements.len()).map(Step::Acknowledge));
        steps
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Decide(decision) => self.server.decide(decision, Some(DOWN)),
            Step::SendNotice => {
                // What is the same under way twice arrives twice anyhow.
                if !self.notices.contains(&self.server.notice()) {
                    self.notices.push(self.server.notice());
                }
            }
            Step::Arrive(n) => self.client.on_notice(Time::ZERO, self.notices[n], Some(UP)),
            Step::SendEpoch => {
                let epoch = self.client.epoch().expect("only once there is one");
                if !self.acknowledgements.contains(&epoch) {
                    self.acknowledgements.push(epoch);
                }
            }
            Step::Acknowledge(n) => self.server.on_acknowledged(self.acknowledgements[n]),
        }
    }

    /// What tells two pairs apart.
    fn key(&self) -> String {
        let Self { server, client, notices, acknowledgements } = self;
        format!("{server:?}{client:?}{notices:?}{acknowledgements:?}")
    }

    fn check(&self, path: &[Step]) {
        let client = self.client.target(Time::ZERO);
        let both = client.is_some() && self.server.target().is_some();
        assert!(!both, "both ends are constrained after {path:?}");
        if self.server.state() == State::ServerConstrained {
            assert_eq!(client, None, "{path:?}");
        }
    }

    /// Delivers what is newest, both ways, until nothing changes.
    fn settle(&mut self) {
        for _ in 0..2 {
            self.client.on_notice(Time::ZERO, self.server.notice(), Some(UP));
            if let Some(epoch) = self.client.epoch() {
                self.server.on_acknowledged(epoch);
            }
        }
    }
}

/// Every interleaving of up to fourteen decisions, sendings and arrivals, arrivals out of order and repeated included.
#[test]
fn no_interleaving_constrains_both_ends() {
    let mut seen = BTreeSet::new();
    let mut frontier = vec![(Pair::new(), Vec::new())];
    let mut states = 0;
    for _ in 0..14 {
        let mut next = Vec::new();
        for (pair, path) in &frontier {
            for step in pair.steps() {
                let (mut after, mut path) = (pair.clone(), path.clone());
                after.take(step);
                path.push(step);
                after.check(&path);
                if seen.insert(after.key()) {
                    states += 1;
                    next.push((after, path));
                }
            }
        }
        frontier = next;
    }
    assert!(states > 1000, "only {states} states were visited");
    // From wherever messages begin to arrive again, the last decision comes into force.
    for (pair, path) in frontier {
        for decision in DECISIONS {
            let mut pair = pair.clone();
            pair.server.decide(decision, Some(DOWN));
            pair.settle();
            let (up, down) = (pair.client.target(Time::ZERO), pair.server.target());
            let expected = match decision {
                Decision::Natural => (None, None),
                Decision::Client(rate) => (Some(rate), None),
                Decision::Server(rate) => (None, Some(rate)),
            };
            assert_eq!((up, down), expected, "{decision:?} after {path:?}");
        }
    }
}

fn step() -> impl Strategy<Value = (u8, usize)> {
    (0_u8..7, 0_usize..64)
}

proptest! {
    /// As above with far longer histories, across the wrap of epochs.
    #[test]
    fn no_history_constrains_both_ends(history in prop::collection::vec(step(), 1..400)) {
        let mut pair = Pair::new();
        for (kind, which) in history {
            let step = match kind {
                0..=2 => Step::Decide(DECISIONS[usize::from(kind)]),
                3 => Step::SendNotice,
                4 if !pair.notices.is_empty() => Step::Arrive(which % pair.notices.len()),
                5 if pair.client.epoch().is_some() => Step::SendEpoch,
                6 if !pair.acknowledgements.is_empty() => {
                    Step::Acknowledge(which % pair.acknowledgements.len())
                }
                _ => continue,
            };
            pair.take(step);
            pair.check(&[step]);
        }
    }

    #[test]
    fn any_bytes_make_a_notice_or_an_error(bytes: [u8; 8]) {
        if let Ok(notice) = Notice::decode(bytes) {
            let again = Notice::decode(notice.encode()).expect("what was encoded");
            prop_assert_eq!(again.epoch, notice.epoch);
            prop_assert_eq!(again.target.is_some(), notice.target.is_some());
        }
    }
}

#[test]
fn a_notice_keeps_its_target_and_its_number() {
    for (target, epoch) in [(None, 0), (Some(UP), 7), (Some(Rate::from_mbps(1e6)), u32::MAX)] {
        let notice = Notice { epoch: Epoch(epoch), target };
        assert_eq!(Notice::decode(notice.encode()), Ok(notice));
    }
    // A target of zero holds its client; it does not free it.
    let zero = Notice { epoch: Epoch(1), target: Some(Rate::ZERO) };
    assert_eq!(Notice::decode(zero.encode()).expect("a notice").target, Some(Rate::ZERO));
}

#[test]
fn a_target_that_is_no_rate_is_refused() {
    for kbps in [f32::NAN, f32::INFINITY, -1.0, 2e9] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&kbps.to_be_bytes());
        let error = Notice::decode(bytes).expect_err("no rate");
        assert!(error.to_string().contains("expected 0 for none"), "{error}");
    }
}

#[test]
fn epochs_wrap() {
    let last = Epoch(u32::MAX);
    assert!(last.next().is_after(last));
    assert!(!last.is_after(last.next()));
    assert!(!last.is_after(last));
}

#[test]
fn a_client_is_free_once_its_server_is_silent() {
    let mut client = ClientControl::new(Duration::from_secs(3));
    let notice = Notice { epoch: Epoch(1), target: Some(UP) };
    client.on_notice(Time::ZERO, notice, Some(DOWN));
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    assert_eq!(client.target(at(2_999)), Some(UP));
    // The same notice again shows that the server is there.
    client.on_notice(at(2_000), notice, Some(DOWN));
    assert_eq!(client.target(at(4_999)), Some(UP));
    assert_eq!(client.take_retained(at(4_999)), None);
    assert_eq!(client.target(at(5_000)), None);
    assert_eq!(client.take_retained(at(5_000)), Some(DOWN));
    assert_eq!(client.take_retained(at(5_000)), None);
}

#[test]
fn rates_from_before_are_kept_at_both_ends() {
    let mut server = ServerControl::default();
    server.decide(Decision::Server(DOWN), Some(UP));
    assert_eq!(server.target(), Some(DOWN));
    assert_eq!(server.take_retained(), None);
    // A new target is no new entry.
    server.decide(Decision::Server(UP), Some(DOWN));
    server.decide(Decision::Natural, Some(DOWN));
    assert_eq!(server.take_retained(), Some(UP));
    assert_eq!(server.take_retained(), None);
}

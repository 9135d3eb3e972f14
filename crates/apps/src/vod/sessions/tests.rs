use std::collections::BTreeSet;

use airlane_abr::{AbrKind, PlayerConfig, TitleModel};
use airlane_base::Seed;
use airlane_media::{Metric, Perceptual, synthetic};
use airlane_minerva::{Config, Form, Normalisation, RateCurve};
use airlane_quality::QoeParams;
use proptest::prelude::*;

use super::super::provider::Provider;
use super::share::Updates;
use super::*;

/// Weighs everybody as three plain connections, but for titles called `unknown`.
#[derive(Debug)]
struct Three;

impl WeightPolicy for Three {
    fn terms(&self, title: &str, _: &str, _: &Cmcd) -> SessionPolicy {
        let known = title != "unknown";
        SessionPolicy {
            cohort: if known { Cohort::Control } else { Cohort::NoTable },
            setting: None,
        }
    }
    fn rule(&self, title: &str, _: Cohort, _: &Cmcd) -> Option<WeightRule> {
        (title != "unknown").then_some(WeightRule::Fixed(3.0))
    }
    fn payload_bytes(&self) -> u64 {
        1350
    }
    fn suggestion_bps(&self, _: &str, _: f64) -> Option<u64> {
        None
    }
}

const BOUNDS: Bounds = Bounds { sessions: 4, shares: 2 };

fn peer() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

fn at(s: u64) -> Time {
    Time::from_millis(s * 1000)
}

fn totals(acked_bytes: u64) -> Progress {
    Progress { acked_bytes, ..Progress::default() }
}

fn cmcd(id: &str) -> Cmcd {
    Cmcd { session: (!id.is_empty()).then(|| id.to_owned()), ..Cmcd::default() }
}

const PICTURE: PartRole = PartRole::Picture { rung: 1, chunk: 0 };

fn ask(
    sessions: &mut Sessions,
    (now, connection): (Time, u64),
    asked: (&str, &str, PartRole),
) -> Option<Accepted> {
    ask_after(sessions, (now, connection, 0), asked)
}

fn ask_after(
    sessions: &mut Sessions,
    at: (Time, u64, u64),
    asked: (&str, &str, PartRole),
) -> Option<Accepted> {
    ask_with(sessions, at, asked, None)
}

fn ask_with(
    sessions: &mut Sessions,
    (now, connection, acked): (Time, u64, u64),
    (id, title, role): (&str, &str, PartRole),
    token: Option<&str>,
) -> Option<Accepted> {
    let part = Part { title: title.into(), role };
    let request = PartRequest { part: &part, cmcd: &cmcd(id), token };
    sessions.on_request(now, connection, totals(acked), request, Some(&Three))
}

fn expire(sessions: &mut Sessions, now: Time) {
    let all: Vec<_> = sessions.iter().map(|(key, _)| key.clone()).collect();
    sessions.expire(now, &all);
}

/// A whole chunk.
fn whole(chunk: usize) -> Taken {
    Taken { chunk: (1, chunk), bytes: 0..1000, len: 1000 }
}

/// Sessions with tokens.
fn with_tokens() -> Sessions {
    Sessions::new(BOUNDS).with_tokens(&[7; 32])
}

/// The latest session with an id.
fn find<'a>(sessions: &'a Sessions, id: &str) -> Option<&'a Session> {
    let those = sessions.iter().filter(|(key, _)| key.id() == id).map(|(_, session)| session);
    those.max_by_key(|session| session.number())
}

/// Polls as a weigher does.
fn poll(sessions: &mut Sessions, (now, connection): (Time, u64), totals: Progress) -> Updates {
    let Some(shares) = sessions.shares(connection) else { return Updates::default() };
    let updates = shares.poll(now, totals);
    sessions.end_shares(connection, updates.ended.clone());
    updates
}

fn next_event(sessions: &Sessions, connection: u64) -> Option<Time> {
    sessions.shares(connection)?.next_event()
}

fn state(sessions: &Sessions, id: &str) -> Option<State> {
    Some(find(sessions, id)?.state())
}

#[test]
fn a_session_passes_its_states_from_the_first_request_until_it_is_forgotten() {
    let mut sessions = with_tokens();
    let tcp = sessions.on_connect(peer(), Carrier::Http2, None).id;
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    let first = ask(&mut sessions, (at(0), tcp), ("a", "film", PICTURE)).unwrap();
    assert_eq!(state(&sessions, "a"), Some(State::Unweighted), "TCP has no weights");
    let sound = ("a", "film", PartRole::Other);
    let token = first.token.as_deref();
    let sound = ask_with(&mut sessions, (at(1), quic, 0), sound, token).unwrap();
    assert_eq!(state(&sessions, "a"), Some(State::Waiting), "sound alone makes no share");
    assert!(!sound.begins && !sound.response.has_share());
    let picture = ask(&mut sessions, (at(2), quic), ("a", "film", PICTURE)).unwrap();
    assert_eq!(state(&sessions, "a"), Some(State::Sharing));
    assert_eq!((picture.weight, sessions.weight(quic)), (Some(3.0), Some(3.0)));
    picture.response.on_taken(at(2), &whole(0));
    let b = ask(&mut sessions, (at(3), quic), ("b", "film", PICTURE)).unwrap();
    b.response.on_taken(at(3), &whole(0));
    let third = ask(&mut sessions, (at(4), quic), ("c", "film", PICTURE)).unwrap();
    assert_eq!(state(&sessions, "c"), Some(State::Refused), "two shares are all");
    assert_eq!((third.weight, sessions.weight(quic)), (Some(6.0), Some(6.0)));
    ask(&mut sessions, (at(5), quic), ("d", "unknown", PICTURE)).unwrap();
    assert_eq!(state(&sessions, "d"), Some(State::Refused));
    // The answers to `a` never end: it keeps its share. Those to `b` do.
    let last = ask(&mut sessions, (at(6), quic), ("b", "film", PICTURE)).unwrap();
    for response in [&b.response, &last.response] {
        sessions.on_response_end(at(7), response, Progress::default());
    }
    poll(&mut sessions, (at(66), quic), Progress::default());
    assert_eq!(state(&sessions, "b"), Some(State::Waiting), "silent for a minute beside another");
    assert_eq!((state(&sessions, "a"), sessions.weight(quic)), (Some(State::Sharing), Some(3.0)));
    ask(&mut sessions, (at(67), quic), ("d", "unknown", PICTURE)).unwrap();
    assert_eq!(state(&sessions, "d"), Some(State::Unweighted), "nothing is known of its title");
    sessions.on_disconnect(quic);
    assert_eq!(state(&sessions, "a"), Some(State::Left(None)), "its player can go on with it");
    assert_eq!(state(&sessions, "b"), None, "that of `b` cannot");
    sessions.on_response_end(at(68), &picture.response, Progress::default());
    sessions.on_body_end(at(68), &picture.response, 10);
    expire(&mut sessions, at(129));
    assert_eq!(sessions.iter().count(), 1, "the answers to `a` have not all ended");
    for response in [&first.response, &sound.response] {
        sessions.on_response_end(at(70), response, Progress::default());
    }
    expire(&mut sessions, at(129));
    assert_eq!((sessions.iter().count(), sessions.by_number.len()), (0, 0));
    assert!(ask(&mut sessions, (at(130), quic), ("a", "film", PICTURE)).is_none());
}

/// Whoever hears of an id cannot have what belongs to it.
#[test]
fn an_id_from_elsewhere_neither_sees_nor_moves_a_session() {
    let mut sessions = with_tokens();
    let [own, strange] =
        [(); 2].map(|()| sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id);
    let first = ask(&mut sessions, (at(0), own), ("a", "film", PICTURE)).unwrap();
    let key = SessionKey::of("a", own);
    let forged = first.token.clone().map(|t| t.replace('.', "0."));
    for token in [None, Some("0.00"), forged.as_deref()] {
        let asked = ask_with(&mut sessions, (at(1), strange, 0), ("a", "other", PICTURE), token);
        let began = asked.unwrap().response.key;
        assert_eq!(began, SessionKey::of("a", strange), "one of its own");
        sessions.on_report(
            at(1),
            strange,
            token,
            &Cmcd { buffer: Some(at(9) - at(0)), ..cmcd("a") },
        );
    }
    let session = sessions.get(&key).unwrap();
    assert_eq!((session.title(), session.client().id), ("film", own));
    assert_eq!((session.last_activity(), session.state()), (at(0), State::Sharing));
    assert_eq!(session.buffer_s(at(1)), None);
    // A token is for one id.
    let other = ask_with(
        &mut sessions,
        (at(2), strange, 0),
        ("b", "film", PICTURE),
        first.token.as_deref(),
    );
    assert!(other.unwrap().begins);
    // With both the player goes on, also by reports, and then without showing it each time.
    sessions.on_report(at(3), strange, first.token.as_deref(), &cmcd("a"));
    assert_eq!(sessions.get(&key).unwrap().last_activity(), at(3));
    sessions.on_disconnect(own);
    let asked = ask(&mut sessions, (at(4), strange), ("a", "film", PICTURE)).unwrap();
    assert!(!asked.begins && asked.response.key == key);
    // A new title begins a session on the connection where it is asked for.
    let next = ask(&mut sessions, (at(5), strange), ("a", "other", PICTURE)).unwrap();
    assert!(next.begins && sessions.by_token(first.token.as_deref().unwrap()).is_none());
}

#[test]
fn a_connection_counts_for_the_sessions_that_play_and_no_others() {
    let mut sessions = Sessions::new(Bounds { sessions: 100, shares: 32 });
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    let mut answers = Vec::new();
    for n in 0..32 {
        answers.push(ask(&mut sessions, (at(0), quic), (&n.to_string(), "film", PICTURE)).unwrap());
        assert_eq!(sessions.weight(quic), Some(3.0), "one that has just begun, however many did");
    }
    for (n, answer) in answers.iter().enumerate() {
        let played = Taken { bytes: 0..if n < 5 { 1000 } else { 999 }, ..whole(0) };
        answer.response.on_taken(at(1), &played);
    }
    assert_eq!(sessions.weight(quic), Some(15.0));
    // One that has what it asked for leaves nothing to the others.
    for answer in &answers[..3] {
        sessions.on_response_end(at(2), &answer.response, Progress::default());
    }
    assert_eq!(sessions.weight(quic), Some(6.0));
    // The others are still to take the rest of their chunks; that they do not leads to a poll.
    assert_eq!(next_event(&sessions, quic), Some(at(13)), "of those that have");
    poll(&mut sessions, (at(13), quic), Progress::default());
    assert_eq!((next_event(&sessions, quic), sessions.weight(quic)), (Some(at(60)), Some(6.0)));
    poll(&mut sessions, (at(60), quic), Progress::default());
    let updates = poll(&mut sessions, (at(61), quic), Progress::default());
    assert_eq!((updates.weight, sessions.weight(quic)), (Some(3.0), Some(3.0)));
}

/// What is counted of bodies is not exact: a rest of them is not looked for again and again.
#[test]
fn a_rest_that_never_comes_is_not_waited_for() {
    let mut sessions = Sessions::new(BOUNDS);
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    for id in ["a", "b"] {
        let asked = ask(&mut sessions, (at(0), quic), (id, "film", PICTURE)).unwrap();
        asked.response.on_taken(at(0), &whole(0));
        asked.response.on_body_handed_over(at(0), totals(0), 1000);
        sessions.on_response_end(at(1), &asked.response, totals(1900));
    }
    let mut polls = 0;
    while let Some(due) = next_event(&sessions, quic).filter(|due| *due < at(9)) {
        poll(&mut sessions, (due, quic), totals(1900));
        polls += 1;
    }
    assert!((10..=25).contains(&polls), "{polls}: for a second, and no longer");
}

#[test]
fn another_title_is_another_session_and_late_answers_do_not_count_for_it() {
    let mut sessions = Sessions::new(BOUNDS);
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    let first = ask(&mut sessions, (at(0), quic), ("a", "film", PICTURE)).unwrap();
    let second = ask(&mut sessions, (at(1), quic), ("a", "other", PICTURE)).unwrap();
    assert!(first.begins && second.begins && sessions.begun() == 2);
    sessions.on_body_end(at(2), &first.response, 1000);
    sessions.on_response_end(at(2), &first.response, Progress::default());
    let session = |s: &Sessions| find(s, "a").unwrap().bytes();
    assert_eq!(session(&sessions), 0);
    sessions.on_body_end(at(3), &second.response, 500);
    assert_eq!((session(&sessions), sessions.weight(quic)), (500, Some(3.0)));
}

#[test]
fn a_player_on_two_connections_is_one_session_with_a_share_of_each() {
    let mut sessions = with_tokens();
    let [one, two] = [(); 2].map(|()| sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id);
    let mut token = None;
    for (s, connection) in [(0, one), (1, two), (2, one)] {
        let asked = ("a", "film", PICTURE);
        let accepted = ask_with(&mut sessions, (at(s), connection, 0), asked, token.as_deref());
        let accepted = accepted.unwrap();
        token = token.or(accepted.token);
        assert_eq!(accepted.begins, s == 0);
        assert_eq!(state(&sessions, "a"), Some(State::Sharing));
    }
    assert_eq!((sessions.weight(one), sessions.weight(two)), (Some(3.0), Some(3.0)));
    sessions.on_disconnect(one);
    assert_eq!(state(&sessions, "a"), Some(State::Left(None)));
    assert_eq!(sessions.weight(two), Some(3.0), "its share there goes on");
    ask(&mut sessions, (at(3), two), ("a", "film", PICTURE)).unwrap();
    assert_eq!(state(&sessions, "a"), Some(State::Sharing));
}

#[test]
fn a_share_that_falls_silent_takes_its_fixed_weight_along() {
    let mut sessions = Sessions::new(BOUNDS);
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    for id in ["a", "b"] {
        let asked = ask(&mut sessions, (at(0), quic), (id, "film", PICTURE)).unwrap();
        sessions.on_response_end(at(1), &asked.response, Progress::default());
    }
    ask(&mut sessions, (at(40), quic), ("a", "film", PICTURE)).unwrap();
    // Fixed weights are never due: nothing but the silence leads to a poll.
    let due = next_event(&sessions, quic).unwrap();
    assert_eq!(due, at(60));
    poll(&mut sessions, (due, quic), Progress::default());
    assert_eq!((state(&sessions, "b"), sessions.weight(quic)), (Some(State::Waiting), Some(3.0)));
    assert_eq!(next_event(&sessions, quic), None, "the last share stays");
}

#[test]
fn a_connection_that_ends_between_a_poll_and_its_outcome_keeps_no_session() {
    let mut sessions = with_tokens();
    let [one, two] = [(); 2].map(|()| sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id);
    let mut tokens = Vec::new();
    for id in ["a", "b"] {
        let asked = ask(&mut sessions, (at(0), one), (id, "film", PICTURE)).unwrap();
        sessions.on_response_end(at(0), &asked.response, Progress::default());
        tokens.extend(asked.token);
    }
    // `a` goes on with another connection, and is silent on the first.
    let asked = ("a", "film", PICTURE);
    let asked = ask_with(&mut sessions, (at(30), two, 0), asked, Some(&tokens[0])).unwrap();
    sessions.on_response_end(at(30), &asked.response, Progress::default());
    let updates = sessions.shares(one).unwrap().poll(at(70), totals(0));
    assert_eq!(updates.ended, [SessionKey::of("a", one)]);
    sessions.on_disconnect(one);
    sessions.end_shares(one, updates.ended);
    sessions.on_disconnect(two);
    expire(&mut sessions, at(200));
    assert_eq!(sessions.iter().count(), 0);
}

#[test]
fn totals_that_were_read_before_others_count_nothing_twice() {
    let mut sessions = Sessions::new(BOUNDS);
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    ask(&mut sessions, (at(0), quic), ("a", "film", PICTURE)).unwrap();
    for acked in [1000, 3000, 2000, 3000, 1000, 4000] {
        poll(&mut sessions, (at(1), quic), totals(acked));
    }
    let shares = sessions.shares(quic).unwrap();
    assert_eq!(shares.lock().delivered(&SessionKey::of("a", quic)), Some(4000));
}

#[test]
fn of_shares_that_are_silent_together_the_last_one_stays() {
    let mut sessions = Sessions::new(BOUNDS);
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    for (s, id) in [(0, "b"), (1, "a")] {
        let asked = ask(&mut sessions, (at(s), quic), (id, "film", PICTURE)).unwrap();
        sessions.on_response_end(at(1), &asked.response, Progress::default());
    }
    poll(&mut sessions, (at(100), quic), Progress::default());
    assert_eq!(state(&sessions, "a"), Some(State::Sharing));
    assert_eq!(state(&sessions, "b"), Some(State::Waiting));
}

#[test]
fn sound_does_not_shorten_the_buffer_that_was_reported() {
    let mut sessions = Sessions::new(BOUNDS);
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    let cmcd = Cmcd { buffer: Some(Duration::from_secs(20)), ..cmcd("a") };
    for (s, role) in [(0, PICTURE), (5, PartRole::Other)] {
        let part = Part { title: "film".into(), role };
        let request = PartRequest { part: &part, cmcd: &cmcd, token: None };
        sessions.on_request(at(s), quic, totals(0), request, Some(&Three)).unwrap();
    }
    let session = find(&sessions, "a").unwrap();
    assert_eq!(session.buffer_s(at(8)), Some(12.0));
}

/// A provider of two titles, which weighs as Minerva does.
fn minerva() -> Provider {
    let abr = AbrKind::default();
    let setting = |video: &Arc<_>| {
        let view = Perceptual::new(Arc::clone(video), Metric::Vmaf).unwrap();
        Arc::new(TitleModel::new(view, QoeParams::default(), PlayerConfig::default()).unwrap())
    };
    let settings: Vec<Arc<TitleModel>> =
        synthetic::corpus(2, 40, Seed(3)).iter().map(setting).collect();
    let curve = |s: &Arc<TitleModel>| RateCurve::simulate(s, &abr, Duration::from_secs(100));
    let curves: Vec<RateCurve> = settings.iter().map(curve).collect();
    let f = Normalisation::uniform(Form::FixedRate, 2.0, curves.iter().map(RateCurve::qoe));
    let titles = settings.iter().map(|s| ((s.video().name.clone(), Metric::Vmaf), s.clone()));
    Provider {
        titles: titles.collect(),
        metric: Metric::Vmaf,
        abr,
        values: BTreeMap::new(),
        normalisation: Arc::new(f.unwrap()),
        config: Config::default(),
        payload_bytes: 1350,
    }
}

/// A connection that is never idle, on a link of 4 Mbit/s.
struct Busy {
    sessions: Sessions,
    provider: Provider,
    connection: u64,
    now: Time,
}

impl Busy {
    const BYTES_PER_MS: u64 = 500;

    fn new() -> Self {
        let mut sessions = Sessions::new(BOUNDS);
        let connection = sessions.on_connect(peer(), Carrier::Http3, Some(2.0)).id;
        Self { sessions, provider: minerva(), connection, now: Time::ZERO }
    }

    fn totals(&self) -> Progress {
        let ms = self.now.as_nanos() / 1_000_000;
        Progress {
            acked_bytes: ms * Self::BYTES_PER_MS,
            busy: Duration::from_millis(ms),
            min_rtt: Duration::from_millis(20),
        }
    }

    /// Requests a chunk, whose body waits to be sent at once.
    fn request(&mut self, id: &str, title: &str, chunk: usize) -> Accepted {
        let part = Part { title: title.into(), role: PartRole::Picture { rung: 1, chunk } };
        let cmcd = Cmcd { buffer: Some(Duration::from_secs(6)), ..cmcd(id) };
        let (now, totals) = (self.now, self.totals());
        let request = PartRequest { part: &part, cmcd: &cmcd, token: None };
        let sessions = &mut self.sessions;
        let accepted =
            sessions.on_request(now, self.connection, totals, request, Some(&self.provider));
        let accepted = accepted.unwrap();
        accepted.response.on_body_handed_over(now, totals, 1 << 30);
        accepted.response.on_taken(now, &whole(chunk));
        accepted
    }

    /// Polls when weights are due, until `until`. The updates.
    fn run(&mut self, until: Time) -> Vec<(SessionKey, Update)> {
        let mut updates = Vec::new();
        while let Some(due) = next_event(&self.sessions, self.connection).filter(|&t| t <= until) {
            self.now = due;
            let totals = self.totals();
            let at = (due, self.connection);
            updates.extend(poll(&mut self.sessions, at, totals).sessions);
        }
        self.now = until;
        updates
    }
}

#[test]
fn the_next_title_on_a_connection_begins_at_the_baselines_weight() {
    let mut busy = Busy::new();
    assert_eq!(busy.request("a", "synthetic-0", 0).weight, None, "the connection begins with it");
    for chunk in 1..5 {
        busy.request("a", "synthetic-0", chunk);
        busy.run(at(2 * chunk as u64));
    }
    let moved = busy.sessions.weight(busy.connection).unwrap();
    assert!((moved - 2.0).abs() > 0.05, "{moved}");
    assert_eq!(busy.request("a", "synthetic-1", 0).weight, Some(2.0));
}

#[test]
fn a_share_that_is_left_alone_does_not_inherit_what_others_had() {
    let mut busy = Busy::new();
    let link_bps = (Busy::BYTES_PER_MS * 8000) as f64;
    let mut updates = Vec::new();
    for chunk in 0..10 {
        busy.request("a", "synthetic-0", chunk);
        busy.request("b", "synthetic-1", chunk);
        updates.extend(busy.run(at(2 * chunk as u64)));
    }
    // In the second half of an interval of `a`, which is measured.
    let due = next_event(&busy.sessions, busy.connection).unwrap();
    busy.now = due;
    let totals = busy.totals();
    poll(&mut busy.sessions, (due, busy.connection), totals);
    busy.request("b", "unknown", 0);
    let shares = busy.sessions.shares(busy.connection).unwrap();
    assert_eq!(shares.lock().len(), 1, "b has no weight for a title that nothing is known of");
    let alone = busy.run(at(30));
    assert!(!alone.is_empty());
    for (_, update) in updates.iter().chain(&alone) {
        assert!(update.rate_bps <= 1.01 * link_bps, "{update:?}");
    }
}

#[test]
fn invented_sessions_take_no_share_away() {
    let mut sessions = Sessions::new(BOUNDS);
    let quic = sessions.on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    let tcp = sessions.on_connect(peer(), Carrier::Http1, None).id;
    ask(&mut sessions, (at(0), quic), ("a", "film", PICTURE)).unwrap();
    for n in 1..100 {
        ask(&mut sessions, (at(n), tcp), (&n.to_string(), "film", PICTURE)).unwrap();
        assert!(sessions.iter().count() <= BOUNDS.sessions);
    }
    assert_eq!((state(&sessions, "a"), sessions.weight(quic)), (Some(State::Sharing), Some(3.0)));
    assert!(state(&sessions, "98").is_some(), "the latest are known");
}

#[test]
fn another_session_costs_as_much_however_many_there_are() {
    let bounds = Bounds::default();
    let mut sessions = Sessions::new(bounds);
    let tcp = sessions.on_connect(peer(), Carrier::Http2, None).id;
    for n in 0..4 * bounds.sessions as u64 {
        ask(&mut sessions, (at(n), tcp), (&n.to_string(), "film", PICTURE)).unwrap();
        // One that was used again was not silent for longest.
        let again = ask(&mut sessions, (at(n), tcp), ("0", "film", PICTURE)).unwrap();
        assert!(!again.begins);
    }
    assert_eq!(sessions.count(), bounds.sessions);
    let kept = 3 * bounds.sessions as u64 + 1;
    assert!(state(&sessions, &(kept - 1).to_string()).is_none());
    assert!(state(&sessions, &kept.to_string()).is_some());
}

/// What may happen to sessions.
#[derive(Clone, Debug)]
enum Event {
    Connect { managed: bool },
    Disconnect(usize),
    Request { connection: usize, id: usize, title: usize, picture: bool, token: bool },
    Handed { answer: usize, bytes: u64 },
    Taken { answer: usize, chunk: usize },
    End(usize),
    Report { connection: usize, id: usize },
    Poll { connection: usize, acked: u64 },
    Expire,
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => any::<bool>().prop_map(|managed| Event::Connect { managed }),
        1 => (0usize..4).prop_map(Event::Disconnect),
        8 => (0usize..4, 0usize..6, 0usize..3, prop::bool::weighted(0.8), any::<bool>()).prop_map(
            |(connection, id, title, picture, token)| {
                Event::Request { connection, id, title, picture, token }
            }
        ),
        4 => (0usize..8, 0usize..6).prop_map(|(answer, chunk)| Event::Taken { answer, chunk }),
        4 => (0usize..8, 0u64..100_000).prop_map(|(answer, bytes)| Event::Handed { answer, bytes }),
        4 => (0usize..8).prop_map(Event::End),
        1 => (0usize..4, 0usize..6).prop_map(|(connection, id)| Event::Report { connection, id }),
        3 => (0usize..4, 0u64..200_000)
            .prop_map(|(connection, acked)| Event::Poll { connection, acked }),
        1 => Just(Event::Expire),
        2 => (0u64..50).prop_map(Event::Wait),
    ]
}

/// What holds after every event, seen from the sessions and from the connections.
fn check(sessions: &Sessions, acked: &BTreeMap<u64, u64>) {
    for (key, session) in sessions.iter() {
        let open = sessions.connections.get(&session.client.id);
        let shares = open.and_then(|c| c.shares.as_ref());
        let has_share = shares.is_some_and(|s| s.lock().is_of(key, session.number));
        match session.state {
            State::Sharing => assert!(has_share, "{key:?}"),
            State::Left(_) => assert!(open.is_none() && session.resumable),
            State::Waiting | State::Refused => assert!(shares.is_some() && !has_share),
            State::Unweighted => assert!(open.is_some() && !has_share),
        }
        assert_eq!(open.is_some_and(|c| c.sessions.contains(key)), open.is_some());
        for connection in &session.shares {
            let shares = sessions.shares(*connection).unwrap();
            assert!(shares.lock().is_of(key, session.number));
        }
    }
    for (number, open) in &sessions.connections {
        for key in &open.sessions {
            assert_eq!(sessions.by_key[key].client.id, *number);
        }
        let Some(shares) = &open.shares else { continue };
        let shares = shares.lock();
        assert!(shares.len() <= BOUNDS.shares);
        for key in shares.keys() {
            assert!(sessions.by_key[key].shares.contains(number));
        }
        let delivered: u64 = shares.keys().filter_map(|key| shares.delivered(key)).sum();
        assert!(delivered <= acked.get(number).copied().unwrap_or(0), "no byte counts twice");
        // Who plays counts; one is as heavy as a plain connection here.
        let (any, playing) = (shares.len() > 0, shares.counting().max(1) as f64);
        drop(shares);
        assert_eq!(sessions.weight(*number), any.then_some(3.0 * playing));
    }
    let without = sessions.iter().filter(|(_, s)| s.shares.is_empty());
    let without: BTreeSet<_> = without.map(|(_, s)| (s.last_activity, s.number)).collect();
    assert!(sessions.silent.iter().eq(without));
    assert_eq!(sessions.by_number.len(), sessions.by_key.len());
    for (number, key) in &sessions.by_number {
        assert_eq!(sessions.by_key[key].number, *number);
    }
}

proptest! {
    /// Whatever happens in whatever order: states agree with connections, both bounds hold, a
    /// connection's weight is the sum over its shares, and so is at most what it delivered.
    #[test]
    fn states_and_connections_agree_after_any_events(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut sessions = with_tokens();
        let mut tokens: BTreeMap<&str, String> = BTreeMap::new();
        let mut now = Time::ZERO;
        let (mut open, mut answers) = (Vec::<u64>::new(), Vec::<(u64, PendingResponse)>::new());
        let mut acked: BTreeMap<u64, u64> = BTreeMap::new();
        let mut numbers = BTreeSet::new();
        for event in events {
            match event {
                Event::Connect { managed } => {
                    let carrier = if managed { Carrier::Http3 } else { Carrier::Http2 };
                    let number = sessions.on_connect(peer(), carrier, managed.then_some(3.0)).id;
                    prop_assert!(numbers.insert(number), "numbers of connections are unique");
                    open.push(number);
                }
                Event::Disconnect(n) if n < open.len() => sessions.on_disconnect(open.remove(n)),
                Event::Request { connection, id, title, picture, token } => {
                    let Some(&connection) = open.get(connection) else { continue };
                    let id = ["", "a", "b", "c", "d", "e"][id];
                    let role = if picture { PICTURE } else { PartRole::Other };
                    let asked = (id, ["film", "other", "unknown"][title], role);
                    let done = acked.get(&connection).copied().unwrap_or(0);
                    let token = tokens.get(id).filter(|_| token).cloned();
                    let owner = sessions.key_of(connection, id, token.as_deref());
                    let at = (now, connection, done);
                    let accepted = ask_with(&mut sessions, at, asked, token.as_deref()).unwrap();
                    prop_assert_eq!(&accepted.response.key, &owner);
                    prop_assert!(token.is_some() || owner.connection() == connection
                        || sessions.connections[&connection].adopted.contains_key(id));
                    tokens.extend(accepted.token.map(|t| (id, t)));
                    let with_share = sessions.iter().filter(|(_, s)| !s.shares.is_empty()).count();
                    let most = BOUNDS.sessions.max(with_share + 1);
                    prop_assert!(!accepted.begins || sessions.iter().count() <= most);
                    let session = sessions.get(&owner).unwrap();
                    prop_assert_eq!(session.last_activity(), now);
                    let shares = session.state() == State::Sharing;
                    prop_assert_eq!(accepted.response.has_share(), shares);
                    answers.push((connection, accepted.response));
                }
                Event::Handed { answer, bytes } if answer < answers.len() => {
                    let response = &answers[answer];
                    let (connection, response) = response;
                    let acked = acked.get(connection).copied().unwrap_or(0);
                    response.on_body_handed_over(now, totals(acked), bytes);
                }
                Event::End(n) if n < answers.len() => {
                    let (connection, response) = answers.remove(n);
                    let acked = acked.get(&connection).copied().unwrap_or(0);
                    sessions.on_body_end(now, &response, 1);
                    sessions.on_response_end(now, &response, totals(acked));
                }
                Event::Taken { answer, chunk } if answer < answers.len() => {
                    answers[answer].1.on_taken(now, &whole(chunk));
                }
                Event::Report { connection, id } => {
                    let Some(&connection) = open.get(connection) else { continue };
                    let report = cmcd(["", "a", "b", "c", "d", "e"][id]);
                    sessions.on_report(now, connection, None, &report);
                }
                Event::Poll { connection, acked: more } => {
                    let Some(&connection) = open.get(connection) else { continue };
                    let acked = acked.entry(connection).or_default();
                    *acked += more;
                    let updates = poll(&mut sessions, (now, connection), totals(*acked));
                    prop_assert!(updates.sessions.is_empty(), "fixed weights are never due");
                }
                Event::Expire => {
                    expire(&mut sessions, now);
                    let over = |s: &Session| s.shares.is_empty() && s.is_over(now);
                    prop_assert!(!sessions.iter().any(|(_, s)| over(s)));
                }
                Event::Wait(s) => now += Duration::from_secs(s),
                _ => {}
            }
            check(&sessions, &acked);
        }
    }
}

/// Several threads at once: two that ask, one that polls, one that ends connections. When all are
/// through, sessions and shares agree.
#[test]
fn threads_that_ask_poll_and_disconnect_leave_sessions_and_shares_in_agreement() {
    const ROUNDS: u64 = 3000;
    let shared = SharedSessions::default();
    *shared.lock() = Sessions::new(BOUNDS);
    let connect =
        |shared: &SharedSessions| shared.lock().on_connect(peer(), Carrier::Http3, Some(3.0)).id;
    let open = Mutex::new([(); 3].map(|()| connect(&shared)));
    let connection = |n: u64| open.lock()[n as usize % 3];
    let ask_often = |offset: u64| {
        for n in 0..ROUNDS {
            let id = ["a", "b", "c", "d"][(n * 7 + offset) as usize % 4];
            let title =
                ["film", "film", "film", "other", "unknown"][(n * 11 + offset) as usize % 5];
            let accepted = {
                let sessions = &mut shared.lock();
                ask_after(sessions, (at(20 * n), connection(n + offset), n), (id, title, PICTURE))
            };
            let Some(accepted) = accepted else { continue };
            accepted.response.on_body_handed_over(at(20 * n), totals(n), 1000);
            shared.lock().on_response_end(at(20 * n), &accepted.response, totals(n));
        }
    };
    let poll_often = || {
        for n in 0..ROUNDS {
            let connection = connection(n);
            let Some(shares) = shared.lock().shares(connection) else { continue };
            let updates = shares.poll(at(20 * n), totals(n));
            shared.lock().end_shares(connection, updates.ended);
        }
    };
    let reconnect_often = || {
        for n in 0..ROUNDS / 10 {
            let gone = connection(n);
            shared.lock().on_disconnect(gone);
            let new = connect(&shared);
            open.lock()[n as usize % 3] = new;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| ask_often(0));
        scope.spawn(|| ask_often(1));
        scope.spawn(poll_often);
        scope.spawn(reconnect_often);
    });
    let acked = open.lock().iter().map(|c| (*c, ROUNDS)).collect();
    check(&shared.lock(), &acked);
    // Nothing keeps a session that is over.
    for connection in *open.lock() {
        shared.lock().on_disconnect(connection);
    }
    expire(&mut shared.lock(), at(20 * ROUNDS + 61));
    assert_eq!(shared.lock().iter().count(), 0);
}

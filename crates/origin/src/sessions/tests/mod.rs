mod minerva;
mod model;

use std::collections::BTreeSet;

use airlane_abr::{AbrKind, PlayerConfig, TitleModel};
use airlane_base::Seed;
use airlane_media::{Metric, Perceptual, synthetic};
use airlane_minerva::{Config, Form, Normalisation, RateCurve};
use airlane_quality::QoeParams;
use proptest::prelude::*;

use super::super::provider::{Cohort, Provider};
use super::super::store::Part;
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

/// The count of delivered body bytes is not exact: a rest of them is not looked for again and
/// again.
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

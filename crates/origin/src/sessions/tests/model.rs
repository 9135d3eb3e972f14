//! Sessions after any events, and by several threads at once.

use super::*;

/// Event that may happen to sessions.
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

/// Checks what holds after every event, seen from the sessions and from the connections.
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
    /// For any events in any order, states agree with connections, both bounds hold, a
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

//! Shares that Minerva weights.

use super::*;

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

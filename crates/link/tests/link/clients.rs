//! The table of clients against a model that keeps a list.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::Time;
use airlane_link::{ClientKey, Clients};
use proptest::prelude::*;

/// Clients of three networks.
fn key(n: u16) -> ClientKey {
    let peer = SocketAddr::from((Ipv4Addr::new(10, 0, 0, (n % 3) as u8), n));
    ClientKey { peer, listener: 0, local: None }
}

#[derive(Clone, Debug)]
enum Step {
    /// A datagram of a client after so many seconds.
    Comes(u16, u64),
    /// One for the client that came so many clients ago.
    Answer(usize, u64),
    /// Nothing but time.
    Passes(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u16..12, 0_u64..4).prop_map(|(n, s)| Step::Comes(n, s)),
        2 => (0_usize..12, 0_u64..4).prop_map(|(n, s)| Step::Answer(n, s)),
        1 => (0_u64..30).prop_map(Step::Passes),
    ];
    proptest::collection::vec(step, 0..200)
}

/// What a client is to the model.
#[derive(Clone, Copy, Debug)]
struct Known {
    client: u16,
    number: u32,
    used: Time,
    answered: bool,
    established: bool,
}

/// The client that makes room for another.
fn expendable(model: &[Known]) -> Option<Known> {
    let neighbours = |k: &Known| model.iter().filter(|o| o.client % 3 == k.client % 3).count();
    let rank = |k: &&Known| (k.established, usize::MAX - neighbours(k), k.used, k.number);
    model.iter().min_by_key(rank).copied()
}

proptest! {
    #[test]
    fn the_table_forgets_as_a_list_would(
        (steps, most) in (steps(), 1_usize..6)
    ) {
        let idle = Duration::from_secs(10);
        let mut table = Clients::new(most, idle);
        let mut model: Vec<Known> = Vec::new();
        let (mut numbers, mut now) = (Vec::new(), Time::ZERO);
        let (mut seen, mut evicted, mut expired) = (0, 0, 0);
        for step in steps {
            let (Step::Comes(_, wait) | Step::Answer(_, wait) | Step::Passes(wait)) = step;
            now += Duration::from_secs(wait);
            if table.next_look().is_some_and(|at| at <= now) {
                let mut gone = table.expired(now);
                gone.sort_unstable();
                let over = |k: &Known| k.used + idle <= now;
                let mut want: Vec<u16> = model.iter().filter(|k| over(k)).map(|k| k.client).collect();
                want.sort_unstable();
                expired += want.len() as u64;
                prop_assert_eq!(gone, want);
                model.retain(|k| !over(k));
            } else {
                prop_assert!(model.iter().all(|k| k.used + idle > now));
            }
            match step {
                Step::Comes(client, _) => {
                    let known = model.iter_mut().find(|k| k.client == client);
                    let found = table.find(&key(client), now);
                    prop_assert_eq!(found, known.as_ref().map(|k| k.number));
                    match known {
                        Some(known) => {
                            known.used = now;
                            known.established = known.answered;
                        }
                        None => {
                            let (number, displaced) = table.insert(key(client), client, now);
                            let out = expendable(&model).filter(|_| model.len() == most);
                            prop_assert_eq!(displaced, out.map(|k| k.client));
                            if let Some(out) = out {
                                model.retain(|k| k.number != out.number);
                                evicted += 1;
                            }
                            prop_assert!(!numbers.contains(&number), "numbers are not given twice");
                            numbers.push(number);
                            let (answered, established) = (false, false);
                            model.push(Known { client, number, used: now, answered, established });
                            seen += 1;
                        }
                    }
                }
                Step::Answer(ago, _) => {
                    if let Some(number) = numbers.iter().rev().nth(ago) {
                        table.answer(*number, now);
                        if let Some(known) = model.iter_mut().find(|k| k.number == *number) {
                            known.used = now;
                            known.answered = true;
                        }
                    }
                }
                Step::Passes(_) => {}
            }
            let totals = table.totals();
            prop_assert_eq!(totals.now, model.len());
            prop_assert!(totals.now <= most);
            prop_assert_eq!((totals.seen, totals.evicted, totals.expired), (seen, evicted, expired));
            for number in &numbers {
                let known = model.iter().find(|k| k.number == *number);
                let got = table.get(*number).map(|(k, c)| (*k, *c));
                prop_assert_eq!(got, known.map(|k| (key(k.client), k.client)));
            }
        }
    }
}

#[test]
fn a_client_at_work_keeps_its_place_beside_a_flood() {
    let mut table = Clients::new(8, Duration::from_secs(300));
    let client = |n: u32| ClientKey {
        peer: SocketAddr::from((Ipv4Addr::from_bits(n), 5000)),
        listener: 0,
        local: None,
    };
    let at_work = client(1);
    let (number, _) = table.insert(at_work, 1, Time::ZERO);
    table.answer(number, Time::from_millis(10));
    assert_eq!(table.find(&at_work, Time::from_millis(20)), Some(number));
    // Forged addresses, answered once each, and nothing of the client in the meantime.
    for n in 2..1_000 {
        let now = Time::from_millis(20 + u64::from(n));
        let (number, _) = table.insert(client(n), n, now);
        table.answer(number, now);
    }
    // As many real clients, all of one network.
    for n in 0..1_000_u16 {
        let now = Time::from_millis(2_000) + Duration::from_millis(n.into());
        let key = ClientKey { peer: SocketAddr::from(([10, 9, 9, 9], n)), ..at_work };
        let (number, _) = table.insert(key, n.into(), now);
        table.answer(number, now);
        table.find(&key, now);
    }
    assert_eq!(table.find(&at_work, Time::from_millis(4_000)), Some(number));
}

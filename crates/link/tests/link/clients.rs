//! The table of clients against a model that keeps a list.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::Time;
use airlane_link::{ClientKey, Clients};
use proptest::prelude::*;

fn key(n: u16) -> ClientKey {
    ClientKey { peer: SocketAddr::from((Ipv4Addr::LOCALHOST, n)), listener: 0, local: None }
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
                        Some(known) => known.used = now,
                        None => {
                            let (number, displaced) = table.insert(key(client), client, now);
                            let longest = model.iter().min_by_key(|k| (k.used, k.number)).copied();
                            let out = longest.filter(|_| model.len() == most);
                            prop_assert_eq!(displaced, out.map(|k| k.client));
                            if let Some(out) = out {
                                model.retain(|k| k.number != out.number);
                                evicted += 1;
                            }
                            prop_assert!(!numbers.contains(&number), "numbers are not given twice");
                            numbers.push(number);
                            model.push(Known { client, number, used: now });
                            seen += 1;
                        }
                    }
                }
                Step::Answer(ago, _) => {
                    if let Some(number) = numbers.iter().rev().nth(ago) {
                        table.hear(*number, now);
                        if let Some(known) = model.iter_mut().find(|k| k.number == *number) {
                            known.used = now;
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

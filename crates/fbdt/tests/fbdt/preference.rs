//! Which paths are used: cheap ones first, dear ones where these do not keep up, backups last.

use airlane_base::Time;
use airlane_fbdt::{Config, Preference};

use crate::emulated::{Path, Stream, pattern};

const DEAR: Preference = Preference { is_backup: false, price: 1 };
const BACKUP: Preference = Preference { is_backup: true, price: 0 };

/// Two paths, of which the second is used as `preference` says.
fn stream(preference: Preference, length: usize) -> Stream {
    let mut stream = Stream::new(Config::default(), &[(3_000, 5), (6_000, 10)], length);
    let second = stream.paths[1].id.unwrap();
    stream.sender.prefer(second, preference);
    stream
}

fn run(stream: &mut Stream, until_ms: u64) {
    while stream.now_ms < until_ms {
        stream.step();
    }
}

#[test]
fn a_dear_path_is_not_used_while_the_cheap_one_keeps_up() {
    // 2 MB twice a second, which the cheap path has sent after two thirds of a second.
    let mut stream = stream(DEAR, 20_000_000);
    for turn in 0..10 {
        stream.offered = Some(2_000_000);
        stream.step();
        stream.offered = Some(0);
        run(&mut stream, (turn + 1) * 1000);
    }
    assert_eq!(stream.carried[1], 0);
    stream.finish(20_000);
    assert!(stream.received == pattern(20_000_000));
}

#[test]
fn a_dear_path_joins_after_a_second_in_which_the_cheap_one_did_not_keep_up() {
    let mut stream = stream(DEAR, 9_000 * 10_000);
    run(&mut stream, 1000);
    assert_eq!(stream.carried[1], 0);
    let took = stream.finish(20_000);
    assert!(stream.received == pattern(9_000 * 10_000));
    // For a second there were 3 of 9 MB.
    assert!(took < 10_000 + 667 + 300, "{took} ms");
}

#[test]
fn what_is_beyond_the_cheap_path_does_not_wait_for_a_second_each_time() {
    let mut stream = stream(DEAR, 3_750 * 20_000);
    stream.offered = Some(3_750);
    run(&mut stream, 2_000);
    let (mut most, before) = (0, stream.carried[1]);
    while stream.now_ms < 20_000 {
        stream.step();
        most = most.max(stream.sender.unarrived());
    }
    // 0.75 of 3.75 MB/s are beyond it. It carries that, and not much more, and what is under way is
    // what the cheap path sends in a third of a second at most.
    let beyond = (stream.carried[1] - before) as f64 / (750.0 * 18_000.0);
    assert!((0.9..1.6).contains(&beyond), "{beyond}");
    assert!(most < 1_000_000, "{most}");
}

#[test]
fn a_backup_is_used_while_nothing_else_speaks() {
    let mut stream = stream(BACKUP, 3_000 * 12_000);
    run(&mut stream, 5_000);
    assert_eq!(stream.carried[1], 0);
    // It goes dark, and the backup takes over what was on its way as well.
    stream.paths[0].stuck = true;
    let before = stream.received.len();
    run(&mut stream, 6_000);
    let taken_over = stream.received.len() - before;
    assert!(taken_over > 6_000 * 600, "{taken_over}");
    // It is back: the backup gets no more than what it took last.
    stream.paths[0].stuck = false;
    run(&mut stream, 6_100);
    let used = stream.carried[1];
    run(&mut stream, 7_000);
    assert_eq!(stream.carried[1], used);
    // It ends.
    let gone = stream.paths[0].id.take().unwrap();
    stream.sender.close(gone);
    stream.finish(20_000);
    assert!(stream.received == pattern(3_000 * 12_000));
}

#[test]
fn prices_have_an_order_and_backups_come_after_all_of_them() {
    let mut stream =
        Stream::new(Config::default(), &[(1_000, 5), (1_000, 5), (1_000, 5)], 60_000_000);
    let [dear, backup, cheap] = [0, 1, 2].map(|path| stream.paths[path].id.unwrap());
    stream.sender.prefer(dear, Preference { is_backup: false, price: 7 });
    stream.sender.prefer(backup, BACKUP);
    stream.sender.prefer(cheap, Preference { is_backup: false, price: 3 });
    run(&mut stream, 5_000);
    assert!(stream.carried[0] > 3_500_000 && stream.carried[2] > 4_500_000);
    assert_eq!(stream.carried[1], 0);
    stream.sender.close(cheap);
    stream.paths[2].id = None;
    run(&mut stream, 7_000);
    assert_eq!(stream.carried[1], 0);
    stream.sender.close(dear);
    stream.paths[0].id = None;
    run(&mut stream, 8_000);
    assert!(stream.carried[1] > 900_000, "{:?}", stream.carried);
}

#[test]
fn a_path_that_is_known_to_be_dark_is_not_waited_for() {
    let mut stream = stream(BACKUP, 1_000_000);
    // Nothing was ever sent on it: only what carries it knows.
    let dark = stream.paths[0].id.unwrap();
    let backup = stream.paths[1].id.unwrap();
    let now = stream.now();
    let mut data = pattern(1000);
    stream.sender.push(&mut data);
    assert_eq!(stream.sender.next(now, backup), None);
    stream.sender.set_unresponsive(dark, true);
    assert!(stream.sender.next(now, backup).is_some());
}

#[test]
fn a_better_path_that_is_about_to_join_is_waited_for() {
    for joins in [true, false] {
        let mut stream = Stream::new(Config::default(), &[], 3_000_000);
        let backup = stream.sender.open_with(stream.now(), BACKUP);
        stream.paths.push(Path::new(backup, (3_000, 5), 0));
        stream.carried.push(0);
        stream.sender.expect(Preference::default(), Time::from_millis(1000));
        run(&mut stream, 500);
        assert_eq!(stream.carried[0], 0);
        if joins {
            stream.open((3_000, 5));
            run(&mut stream, 1_400);
            assert_eq!(stream.carried[0], 0);
        }
        let took = stream.finish(10_000);
        assert!(if joins { took < 1_600 } else { took > 1_990 }, "{took} ms");
        assert!(stream.received == pattern(3_000_000));
    }
}

use std::path::{Path, PathBuf};

use super::*;
use crate::tunnel::admission::AdmissionConfig;
use crate::tunnel::client_key::ClientKey;
use crate::tunnel::clients::{add_client, clients_file};
use crate::tunnel::key::Key;

const NOW: u64 = 1_800_000_000_000;

/// A serving end with clients of its own.
struct Scene {
    folder: tempfile::TempDir,
    key: Key,
    key_file: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("server.key");
        let key = Key::generate().unwrap();
        key.write(&key_file).unwrap();
        Self { folder, key, key_file }
    }

    fn client(&self, name: &str) -> KnockMaker {
        let file = self.folder.path().join(name);
        add_client(name, &self.key_file, &file).unwrap();
        ClientKey::read(&file).unwrap().knock().unwrap()
    }

    fn shared(&self) -> KnockMaker {
        ClientKey::shared(&self.key).unwrap().knock().unwrap()
    }

    fn door(&self, memory: Memory) -> Door {
        let clients = Some(clients_file(&self.key_file));
        let config = AdmissionConfig { clients, state: None };
        Door::new(Admission::open(&self.key, config).unwrap().0, memory)
    }

    fn log(&self, now_ms: u64) -> Memory {
        let folder = self.folder.path().join("state");
        Memory::Log(KnockLog::open(&folder, self.key.file_name(), now_ms).unwrap())
    }
}

fn knock(nonce: u8, time_ms: u64) -> Knock {
    Knock { nonce: [nonce; 16], channel: 1, time_ms }
}

fn take(door: &Door, bytes: &[u8], now_ms: u64) -> Result<Knock, Refused> {
    door.take(bytes, now_ms).map(|(knock, _)| knock)
}

#[test]
fn a_knock_is_taken_once_and_in_time_from_clients_alone() {
    let scene = Scene::new();
    let makers = [scene.shared(), scene.client("laptop"), scene.client("phone")];
    let stranger = Scene::new();
    let strangers = [stranger.shared(), stranger.client("laptop")];
    let door = scene.door(Memory::Since(0));
    let said = knock(7, NOW);
    for stranger in strangers {
        assert_eq!(take(&door, &stranger.seal(&said), NOW), Err(Refused::Stranger));
    }
    let mut peers = BTreeSet::new();
    for maker in makers {
        let bytes = maker.seal(&said);
        assert_eq!(take(&door, &bytes, NOW + MAX_SKEW_MS + 1), Err(Refused::OtherTime));
        assert_eq!(take(&door, &bytes, NOW - MAX_SKEW_MS - 1), Err(Refused::OtherTime));
        let (taken, peer) = door.take(&bytes, NOW + MAX_SKEW_MS).unwrap();
        assert_eq!(taken, said);
        assert!(peers.insert(peer), "each is another to the server");
        assert_eq!(take(&door, &bytes, NOW + MAX_SKEW_MS), Err(Refused::Replayed));
        let other = Knock { channel: 0, ..said };
        assert_eq!(take(&door, &maker.seal(&other), NOW), Ok(other));
    }
}

#[test]
fn any_change_makes_a_stranger_and_no_client_can_knock_as_another() {
    let scene = Scene::new();
    let makers = [scene.shared(), scene.client("laptop"), scene.client("phone")];
    let door = scene.door(Memory::Since(0));
    for maker in &makers {
        let good = maker.seal(&knock(7, NOW));
        for at in 0..KNOCK_BYTES {
            let mut bad = good;
            bad[at] ^= 1;
            assert_eq!(take(&door, &bad, NOW), Err(Refused::Stranger), "byte {at}");
        }
        for length in [0, 10, 25, 32, 33, KNOCK_BYTES - 1] {
            assert_eq!(take(&door, &good[..length], NOW), Err(Refused::Stranger));
        }
        assert!(take(&door, &good, NOW).is_ok());
    }
    let [_, KnockMaker::Client { id, mask, .. }, KnockMaker::Client { key, .. }] = makers else {
        panic!("they are clients")
    };
    let forged = KnockMaker::Client { id, key, mask };
    assert_eq!(take(&door, &forged.seal(&knock(8, NOW)), NOW), Err(Refused::Stranger));
}

#[test]
fn onlookers_cannot_tell_whose_knocks_they_see() {
    let scene = Scene::new();
    let maker = scene.client("laptop");
    let ids: BTreeSet<_> =
        (0..100).map(|nonce| maker.seal(&knock(nonce, NOW))[25..33].to_vec()).collect();
    assert_eq!(ids.len(), 100);
}

#[test]
fn a_knock_is_not_taken_again_by_a_server_that_was_started_again() {
    let scene = Scene::new();
    let makers = [scene.shared(), scene.client("laptop")];
    for (nonce, maker) in (0..).zip(&makers) {
        // However far its clock is behind or ahead.
        for time_ms in [NOW - MAX_SKEW_MS, NOW - 1, NOW, NOW + MAX_SKEW_MS] {
            let bytes = maker.seal(&knock(nonce, time_ms));
            let first = scene.door(scene.log(NOW));
            assert!(take(&first, &bytes, NOW).is_ok());
            drop(first);
            for later_ms in [1, 1000, MAX_SKEW_MS, 2 * MAX_SKEW_MS - 1, 2 * MAX_SKEW_MS] {
                let again = scene.door(scene.log(NOW + later_ms));
                let taken = take(&again, &bytes, NOW + later_ms);
                assert!(
                    matches!(taken, Err(Refused::Replayed | Refused::OtherTime)),
                    "{later_ms} ms later: {taken:?}"
                );
            }
        }
        // A new one is, though the client's clock is as far behind as it may be.
        let again = scene.door(scene.log(NOW + 1));
        let slow = maker.seal(&knock(99, NOW + 1 - MAX_SKEW_MS));
        assert!(take(&again, &slow, NOW + 1).is_ok());
    }
}

#[test]
fn serving_ends_side_by_side_take_a_knock_once() {
    let scene = Scene::new();
    let maker = scene.client("laptop");
    let (one, other) = (scene.door(scene.log(NOW)), scene.door(scene.log(NOW)));
    for nonce in 0..10 {
        let bytes = maker.seal(&knock(nonce, NOW));
        let (first, second) = if nonce % 2 == 0 { (&one, &other) } else { (&other, &one) };
        assert!(take(first, &bytes, NOW).is_ok());
        assert_eq!(take(second, &bytes, NOW), Err(Refused::Replayed));
    }
}

#[test]
fn without_files_what_was_made_before_the_start_is_refused() {
    let scene = Scene::new();
    let maker = scene.shared();
    let door = scene.door(Memory::Since(NOW));
    for time_ms in [NOW - 1, NOW] {
        let bytes = maker.seal(&knock(1, time_ms));
        assert_eq!(take(&door, &bytes, NOW), Err(Refused::BeforeStart));
    }
    assert!(take(&door, &maker.seal(&knock(1, NOW + 1)), NOW + 1).is_ok());
}

#[test]
fn a_record_that_was_cut_off_costs_no_other() {
    let scene = Scene::new();
    let maker = scene.shared();
    let bytes = [1, 2].map(|nonce| maker.seal(&knock(nonce, NOW)));
    assert!(take(&scene.door(scene.log(NOW)), &bytes[0], NOW).is_ok());
    for file in files(&scene.folder.path().join("state")) {
        let text = std::fs::read(&file).unwrap();
        std::fs::write(&file, [&text[..], b"half"].concat()).unwrap();
    }
    assert!(take(&scene.door(scene.log(NOW)), &bytes[1], NOW).is_ok());
    for bytes in bytes {
        assert_eq!(take(&scene.door(scene.log(NOW)), &bytes, NOW), Err(Refused::Replayed));
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn what_is_remembered_is_bounded_by_time() {
    let scene = Scene::new();
    let maker = scene.shared();
    let door = scene.door(scene.log(NOW));
    for i in 0..1000_u64 {
        let time_ms = NOW + i * 1000;
        assert!(take(&door, &maker.seal(&knock(0, time_ms)), time_ms).is_ok());
    }
    let taken = door.taken.lock().unwrap();
    let kept = taken.by_client.values().map(|of| of.knocks.len()).sum::<usize>() as u64;
    assert!(kept <= MAX_SKEW_MS / 1000 + 1, "{kept}");
    assert_eq!(files(&scene.folder.path().join("state")).len(), 2);
}

#[test]
fn who_knocks_without_end_shuts_out_neither_others_nor_itself() {
    let scene = Scene::new();
    let (flood, client) = (scene.shared(), scene.client("laptop"));
    let door = scene.door(Memory::Since(0));
    let numbered = |n: usize, time_ms| {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&n.to_be_bytes());
        Knock { nonce, channel: 0, time_ms }
    };
    for n in 0..2 * MAX_REMEMBERED {
        // As far ahead as may be.
        let time_ms = NOW + MAX_SKEW_MS - (n % 7) as u64;
        assert!(take(&door, &flood.seal(&numbered(n, time_ms)), NOW).is_ok());
    }
    assert!(take(&door, &client.seal(&knock(1, NOW)), NOW).is_ok());
    let own = flood.seal(&knock(2, NOW + 1));
    assert!(take(&door, &own, NOW + 1).is_ok());
    assert_eq!(take(&door, &own, NOW + 1), Err(Refused::Replayed));
    // As far behind: what is forgotten is not taken again.
    let old = flood.seal(&numbered(7, NOW - MAX_SKEW_MS));
    assert!(take(&door, &old, NOW).is_ok());
    for n in 0..2 * MAX_REMEMBERED {
        let _ = take(&door, &flood.seal(&numbered(n, NOW)), NOW);
    }
    assert_eq!(take(&door, &old, NOW), Err(Refused::Replayed));
    let taken = door.taken.lock().unwrap();
    assert!(taken.by_client.values().all(|of| of.knocks.len() <= MAX_REMEMBERED));
}

#[test]
fn knocks_are_as_the_document_has_them() {
    let text = include_str!("../../../../../docs/wire/tunnel.md");
    let said = Knock { nonce: std::array::from_fn(|i| i as u8), channel: 1, time_ms: NOW };
    let makers = [
        ("Knock", KnockMaker::Shared(KnockKey::new(&[1; 32]))),
        (
            "Knock of a client",
            KnockMaker::Client {
                id: client_id([3; 32]),
                key: KnockKey::new(&[1; 32]),
                mask: MaskKey::new(&[2; 32]),
            },
        ),
    ];
    for (name, maker) in makers {
        let begin = format!("{name}: `");
        let vector = text.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default();
        let digits: String = vector.chars().filter(char::is_ascii_hexdigit).collect();
        let hex: String = maker.seal(&said).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, digits, "{name}");
    }
}

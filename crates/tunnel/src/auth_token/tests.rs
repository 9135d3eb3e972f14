use std::path::{Path, PathBuf};

use super::*;
use crate::admission::AdmissionConfig;
use crate::client_key::ClientKey;
use crate::clients::{add_client, clients_file};
use crate::key::Key;

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

    fn client(&self, name: &str) -> TokenSigner {
        let file = self.folder.path().join(name);
        add_client(name, &self.key_file, &file).unwrap();
        ClientKey::read(&file).unwrap().auth_token().unwrap()
    }

    fn shared(&self) -> TokenSigner {
        ClientKey::shared(&self.key).unwrap().auth_token().unwrap()
    }

    fn verifier(&self, memory: ReplayMemory) -> TokenVerifier {
        let clients = Some(clients_file(&self.key_file));
        let config = AdmissionConfig { clients, state: None };
        TokenVerifier::new(Admission::open(&self.key, config).unwrap().0, memory)
    }

    fn log(&self, now_ms: u64) -> ReplayMemory {
        let folder = self.folder.path().join("state");
        ReplayMemory::Log(ReplayLog::open(&folder, self.key.file_name(), now_ms).unwrap())
    }
}

fn auth_token(nonce: u8, time_ms: u64) -> AuthToken {
    AuthToken { nonce: [nonce; 16], channel: 1, time_ms }
}

fn take(verifier: &TokenVerifier, bytes: &[u8], now_ms: u64) -> Result<AuthToken, TokenError> {
    verifier.take(bytes, now_ms).map(|(auth_token, _)| auth_token)
}

#[test]
fn a_knock_is_taken_once_and_in_time_from_clients_alone() {
    let scene = Scene::new();
    let makers = [scene.shared(), scene.client("laptop"), scene.client("phone")];
    let unauthenticated = Scene::new();
    let unauthenticated = [unauthenticated.shared(), unauthenticated.client("laptop")];
    let verifier = scene.verifier(ReplayMemory::Since(0));
    let said = auth_token(7, NOW);
    for unauthenticated in unauthenticated {
        assert_eq!(
            take(&verifier, &unauthenticated.seal(&said), NOW),
            Err(TokenError::Unauthenticated)
        );
    }
    let mut peers = BTreeSet::new();
    for maker in makers {
        let bytes = maker.seal(&said);
        assert_eq!(take(&verifier, &bytes, NOW + MAX_SKEW_MS + 1), Err(TokenError::OtherTime));
        assert_eq!(take(&verifier, &bytes, NOW - MAX_SKEW_MS - 1), Err(TokenError::OtherTime));
        let (taken, peer) = verifier.take(&bytes, NOW + MAX_SKEW_MS).unwrap();
        assert_eq!(taken, said);
        assert!(peers.insert(peer), "each is another to the server");
        assert_eq!(take(&verifier, &bytes, NOW + MAX_SKEW_MS), Err(TokenError::Replayed));
        let other = AuthToken { channel: 0, ..said };
        assert_eq!(take(&verifier, &maker.seal(&other), NOW), Ok(other));
    }
}

#[test]
fn any_change_makes_a_stranger_and_no_client_can_knock_as_another() {
    let scene = Scene::new();
    let makers = [scene.shared(), scene.client("laptop"), scene.client("phone")];
    let verifier = scene.verifier(ReplayMemory::Since(0));
    for maker in &makers {
        let good = maker.seal(&auth_token(7, NOW));
        for at in 0..TOKEN_BYTES {
            let mut bad = good;
            bad[at] ^= 1;
            assert_eq!(take(&verifier, &bad, NOW), Err(TokenError::Unauthenticated), "byte {at}");
        }
        for length in [0, 10, 25, 32, 33, TOKEN_BYTES - 1] {
            assert_eq!(take(&verifier, &good[..length], NOW), Err(TokenError::Unauthenticated));
        }
        assert!(take(&verifier, &good, NOW).is_ok());
    }
    let [_, TokenSigner::Client { id, mask, .. }, TokenSigner::Client { key, .. }] = makers else {
        panic!("they are clients")
    };
    let forged = TokenSigner::Client { id, key, mask };
    assert_eq!(
        take(&verifier, &forged.seal(&auth_token(8, NOW)), NOW),
        Err(TokenError::Unauthenticated)
    );
}

#[test]
fn onlookers_cannot_tell_whose_knocks_they_see() {
    let scene = Scene::new();
    let maker = scene.client("laptop");
    let ids: BTreeSet<_> =
        (0..100).map(|nonce| maker.seal(&auth_token(nonce, NOW))[25..33].to_vec()).collect();
    assert_eq!(ids.len(), 100);
}

#[test]
fn a_knock_is_not_taken_again_by_a_server_that_was_started_again() {
    let scene = Scene::new();
    let makers = [scene.shared(), scene.client("laptop")];
    for (nonce, maker) in (0..).zip(&makers) {
        // However far its clock is behind or ahead.
        for time_ms in [NOW - MAX_SKEW_MS, NOW - 1, NOW, NOW + MAX_SKEW_MS] {
            let bytes = maker.seal(&auth_token(nonce, time_ms));
            let first = scene.verifier(scene.log(NOW));
            assert!(take(&first, &bytes, NOW).is_ok());
            drop(first);
            for later_ms in [1, 1000, MAX_SKEW_MS, 2 * MAX_SKEW_MS - 1, 2 * MAX_SKEW_MS] {
                let again = scene.verifier(scene.log(NOW + later_ms));
                let taken = take(&again, &bytes, NOW + later_ms);
                assert!(
                    matches!(taken, Err(TokenError::Replayed | TokenError::OtherTime)),
                    "{later_ms} ms later: {taken:?}"
                );
            }
        }
        // A new one is, though the client's clock is as far behind as it may be.
        let again = scene.verifier(scene.log(NOW + 1));
        let slow = maker.seal(&auth_token(99, NOW + 1 - MAX_SKEW_MS));
        assert!(take(&again, &slow, NOW + 1).is_ok());
    }
}

#[test]
fn serving_ends_side_by_side_take_a_knock_once() {
    let scene = Scene::new();
    let maker = scene.client("laptop");
    let (one, other) = (scene.verifier(scene.log(NOW)), scene.verifier(scene.log(NOW)));
    for nonce in 0..10 {
        let bytes = maker.seal(&auth_token(nonce, NOW));
        let (first, second) = if nonce % 2 == 0 { (&one, &other) } else { (&other, &one) };
        assert!(take(first, &bytes, NOW).is_ok());
        assert_eq!(take(second, &bytes, NOW), Err(TokenError::Replayed));
    }
}

#[test]
fn without_files_what_was_made_before_the_start_is_refused() {
    let scene = Scene::new();
    let maker = scene.shared();
    let verifier = scene.verifier(ReplayMemory::Since(NOW));
    for time_ms in [NOW - 1, NOW] {
        let bytes = maker.seal(&auth_token(1, time_ms));
        assert_eq!(take(&verifier, &bytes, NOW), Err(TokenError::BeforeStart));
    }
    assert!(take(&verifier, &maker.seal(&auth_token(1, NOW + 1)), NOW + 1).is_ok());
}

#[test]
fn a_record_that_was_cut_off_costs_no_other() {
    let scene = Scene::new();
    let maker = scene.shared();
    let bytes = [1, 2].map(|nonce| maker.seal(&auth_token(nonce, NOW)));
    assert!(take(&scene.verifier(scene.log(NOW)), &bytes[0], NOW).is_ok());
    for file in files(&scene.folder.path().join("state")) {
        let text = std::fs::read(&file).unwrap();
        std::fs::write(&file, [&text[..], b"half"].concat()).unwrap();
    }
    assert!(take(&scene.verifier(scene.log(NOW)), &bytes[1], NOW).is_ok());
    for bytes in bytes {
        assert_eq!(take(&scene.verifier(scene.log(NOW)), &bytes, NOW), Err(TokenError::Replayed));
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn what_is_remembered_is_bounded_by_time() {
    let scene = Scene::new();
    let maker = scene.shared();
    let verifier = scene.verifier(scene.log(NOW));
    for i in 0..1000_u64 {
        let time_ms = NOW + i * 1000;
        assert!(take(&verifier, &maker.seal(&auth_token(0, time_ms)), time_ms).is_ok());
    }
    let taken = verifier.taken.lock();
    let kept = taken.by_client.values().map(|of| of.auth_tokens.len()).sum::<usize>() as u64;
    assert!(kept <= MAX_SKEW_MS / 1000 + 1, "{kept}");
    assert_eq!(files(&scene.folder.path().join("state")).len(), 2);
}

#[test]
fn who_knocks_without_end_shuts_out_neither_others_nor_itself() {
    let scene = Scene::new();
    let (flood, client) = (scene.shared(), scene.client("laptop"));
    let verifier = scene.verifier(ReplayMemory::Since(0));
    let numbered = |n: usize, time_ms| {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&n.to_be_bytes());
        AuthToken { nonce, channel: 0, time_ms }
    };
    for n in 0..2 * MAX_REMEMBERED {
        // As far ahead as may be.
        let time_ms = NOW + MAX_SKEW_MS - (n % 7) as u64;
        assert!(take(&verifier, &flood.seal(&numbered(n, time_ms)), NOW).is_ok());
    }
    assert!(take(&verifier, &client.seal(&auth_token(1, NOW)), NOW).is_ok());
    let own = flood.seal(&auth_token(2, NOW + 1));
    assert!(take(&verifier, &own, NOW + 1).is_ok());
    assert_eq!(take(&verifier, &own, NOW + 1), Err(TokenError::Replayed));
    // As far behind: what is forgotten is not taken again.
    let old = flood.seal(&numbered(7, NOW - MAX_SKEW_MS));
    assert!(take(&verifier, &old, NOW).is_ok());
    for n in 0..2 * MAX_REMEMBERED {
        let _ = take(&verifier, &flood.seal(&numbered(n, NOW)), NOW);
    }
    assert_eq!(take(&verifier, &old, NOW), Err(TokenError::Replayed));
    let taken = verifier.taken.lock();
    assert!(taken.by_client.values().all(|of| of.auth_tokens.len() <= MAX_REMEMBERED));
}

#[test]
fn knocks_are_as_the_document_has_them() {
    let text = include_str!("../../../../docs/reference/wire/tunnel.md");
    let said = AuthToken { nonce: std::array::from_fn(|i| i as u8), channel: 1, time_ms: NOW };
    let makers = [
        ("Token", TokenSigner::Shared(TokenKey::new(&[1; 32]))),
        (
            "Token of a client",
            TokenSigner::Client {
                id: client_id([3; 32]),
                key: TokenKey::new(&[1; 32]),
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

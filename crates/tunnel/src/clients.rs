//! The clients of a serving end that have keys of their own: a file beside its key.
//!
//! `airlane tunnel key` writes it, and a serving end that runs reads it again when it has changed. It
//! holds names and public keys, no secrets; but whoever can write it can add clients.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use airlane_base::InputError;
use airlane_multipath::PeerId;
use airlane_quic::{PinnedKeys, PublicKey, QuicError, Tls, Trust};
use parking_lot::RwLock;

use super::auth_token::{AuthToken, ClientId, MaskKey, TokenKey, client_id};
use super::client_key::ClientKey;
use super::key::{self, Key, from_hex, to_hex};
use airlane_host::secret_file;

/// First line of the file.
const LABEL: &str = "airlane-tunnel-clients-1";
/// Bytes of the file at most.
const MAX_BYTES: u64 = 1 << 20;
/// Characters of a client's name at most.
const MAX_NAME_CHARS: usize = 32;
const EXPECTED: &str =
    "expected NAME and a public key, as `airlane tunnel key --client` writes them";

/// The name of a client: letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientName(String);

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ClientName {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let is_name = (1..=MAX_NAME_CHARS).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            && !text.starts_with(['-', '.']);
        is_name.then(|| Self(text.to_owned())).ok_or_else(|| {
            let expected =
                format!("expected up to {MAX_NAME_CHARS} letters, digits, '.', '_' and '-'");
            InputError::new(format!("{text:?} is no name of a client"), expected)
        })
    }
}

/// Clients by name.
type Names = BTreeMap<ClientName, PeerId>;

/// The file with the clients of the serving end whose key is in `key_file`.
pub fn clients_file(key_file: &Path) -> PathBuf {
    let mut beside = key_file.as_os_str().to_owned();
    beside.push(".clients");
    beside.into()
}

/// Makes a key for a new client of the serving end whose key is in `key_file`, and writes it into the
/// new file `client_file`.
///
/// # Errors
/// If there is a client of that name or such a file already, or a file cannot be read or written.
pub fn add_client(name: &str, key_file: &Path, client_file: &Path) -> Result<(), InputError> {
    let name: ClientName = name.parse()?;
    let server = Key::read(key_file)?;
    let mut is_written = false;
    let edited = edit(key_file, |names, file| {
        if names.contains_key(&name) {
            let expected = "choose another name, or end the old one's rights first: --revoke";
            return Err(InputError::new(format!("there is a client {name} already"), expected)
                .at_file(file));
        }
        let key = ClientKey::generate(name.clone(), &server)?;
        key.write(client_file)?;
        is_written = true;
        names.insert(name, key.peer()?);
        Ok(())
    });
    if edited.is_err() && is_written {
        // A key that opens nothing is of no use.
        let _ = fs::remove_file(client_file);
    }
    edited
}

/// Takes the rights of a client of the serving end whose key is in `key_file`.
///
/// # Errors
/// If there is no such client, or a file cannot be read or written.
pub fn revoke_client(name: &str, key_file: &Path) -> Result<(), InputError> {
    let name: ClientName = name.parse()?;
    Key::read(key_file)?;
    edit(key_file, |names, file| match names.remove(&name) {
        Some(_) => Ok(()),
        None => {
            let all: Vec<String> = names.keys().map(ToString::to_string).collect();
            let expected = match all.is_empty() {
                true => "it lists no client".to_owned(),
                false => format!("expected one of {}", all.join(", ")),
            };
            Err(InputError::new(format!("there is no client {name}"), expected).at_file(file))
        }
    })
}

/// The names of the clients of the serving end whose key is in `key_file`.
///
/// # Errors
/// If a file cannot be read.
pub fn list_clients(key_file: &Path) -> Result<Vec<String>, InputError> {
    Key::read(key_file)?;
    Ok(read(&clients_file(key_file))?.0.keys().map(ToString::to_string).collect())
}

/// Changes the file with the clients. The key's file is locked meanwhile, so that two who do so at
/// once lose nothing.
fn edit(
    key_file: &Path,
    change: impl FnOnce(&mut Names, &Path) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let locked = File::open(key_file).and_then(|file| file.lock().map(|()| file));
    let locked = locked.map_err(|e| InputError::io(key_file, "lock", &e))?;
    let file = clients_file(key_file);
    let mut names = read(&file)?.0;
    change(&mut names, &file)?;
    let subflows = names.iter().map(|(name, peer)| format!("{name} {}\n", to_hex(peer)));
    let text: String = std::iter::once(format!("{LABEL}\n")).chain(subflows).collect();
    write(&file, text.as_bytes(), &locked).map_err(|e| InputError::io(&file, "write", &e))
}

/// Writes the file as a whole or not at all. Its owner alone may read it: that of the key, who runs the
/// serving end.
fn write(file: &Path, bytes: &[u8], key: &File) -> io::Result<()> {
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut half = tempfile::NamedTempFile::new_in(folder)?;
    half.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let (key, own) = (key.metadata()?, half.as_file().metadata()?);
        if (key.uid(), key.gid()) != (own.uid(), own.gid()) {
            fchown(half.as_file(), Some(key.uid()), Some(key.gid()))?;
        }
    }
    #[cfg(not(unix))]
    let _ = key;
    half.as_file().sync_all()?;
    half.persist(file)?;
    Ok(())
}

/// Stamp that tells whether a file is unchanged.
type Stamp = (SystemTime, u64, u64);

fn stamp(file: &Path) -> Option<Stamp> {
    let about = fs::metadata(file).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let number = 0;
    Some((about.modified().ok()?, about.len(), number))
}

/// The clients in the file, none if there is no file, and how it was then.
fn read(file: &Path) -> Result<(Names, Option<Stamp>), InputError> {
    let before = stamp(file);
    if before.is_none() && !file.exists() {
        return Ok((Names::new(), None));
    }
    let text = String::from_utf8_lossy(&secret_file::read(file, MAX_BYTES)?).into_owned();
    Ok((parse(&text).map_err(|e| e.at_file(file))?, before))
}

fn parse(text: &str) -> Result<Names, InputError> {
    let mut lines = (1..).zip(text.lines());
    if lines.next().is_none_or(|(_, line)| line != LABEL) {
        let expected = "expected what `airlane tunnel key --client` wrote";
        return Err(InputError::new("this is no list of a tunnel's clients", expected));
    }
    let mut names = Names::new();
    for (number, line) in lines {
        let wrong = |found: &str| Err(InputError::new(found, EXPECTED).at_line(number));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, key) = line.split_once(' ').unwrap_or((line, ""));
        let name: ClientName = name.parse().map_err(|e: InputError| e.at_line(number))?;
        let Some(peer) = from_hex(key) else { return wrong("a client without a public key") };
        if names.values().any(|other| *other == peer) {
            return wrong("a public key that is there twice");
        }
        if names.insert(name, peer).is_some() {
            return wrong("a client that is there twice");
        }
    }
    Ok(names)
}

/// Clients that a serving end lets in.
pub(crate) struct Clients {
    key: Key,
    file: Option<PathBuf>,
    mask: MaskKey,
    shared: (TokenKey, PeerId),
    pins: Arc<PinnedKeys>,
    known: RwLock<KnownSession>,
}

#[derive(Default)]
struct KnownSession {
    by_id: BTreeMap<ClientId, Client>,
    stamp: Option<Stamp>,
}

struct Client {
    name: ClientName,
    peer: PeerId,
    auth_token: TokenKey,
}

/// The name of those who have the serving end's own key.
pub(crate) const SHARED: &str = "(shared key)";

impl Clients {
    /// Those in `file`, and those who have `key` itself.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn open(key: &Key, file: Option<PathBuf>) -> Result<Self, InputError> {
        let clients = Self {
            file,
            mask: key.mask_key(),
            shared: (key.shared_token_key(), key::public(&key.shared_identity())?),
            key: key.clone(),
            pins: Arc::default(),
            known: RwLock::default(),
        };
        clients.load()?;
        Ok(clients)
    }

    /// TLS identity that the serving end shows, and the clients it asks for: as they are at the
    /// time.
    pub(crate) fn server_tls(&self) -> Result<Tls, QuicError> {
        self.key.server_tls(Trust::Mutual(self.pins.clone()))
    }

    /// Reads the file again if it has changed; the clients that are none any more.
    ///
    /// # Errors
    /// If it cannot be read: then all is as it was.
    pub(crate) fn refresh(&self) -> Result<Vec<(ClientName, PeerId)>, InputError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        if stamp(file) == self.known.read().stamp {
            return Ok(Vec::new());
        }
        self.load()
    }

    fn load(&self) -> Result<Vec<(ClientName, PeerId)>, InputError> {
        let (names, stamp) = match &self.file {
            Some(file) => read(file)?,
            None => (Names::new(), None),
        };
        let by_id = names.into_iter().map(|(name, peer)| {
            let auth_token = TokenKey::new(&self.key.client_token_key(peer));
            (client_id(peer), Client { name, peer, auth_token })
        });
        let new = KnownSession { by_id: by_id.collect(), stamp };
        let all = new.by_id.values().map(|client| client.peer).chain([self.shared.1]);
        self.pins.replace(all.map(|peer| PublicKey::ed25519(&peer)));
        let mut known = self.known.write();
        let before = std::mem::replace(&mut *known, new);
        let is_gone = |client: &Client| !known.by_id.contains_key(&client_id(client.peer));
        let gone = before.by_id.into_values().filter(is_gone);
        Ok(gone.map(|client| (client.name, client.peer)).collect())
    }

    /// Token of a first packet and the client that made it; `None` if it was none of the clients.
    pub(crate) fn identify(&self, bytes: &[u8]) -> Option<(AuthToken, PeerId)> {
        let (shared, peer) = &self.shared;
        if let Some(auth_token) = shared.open(bytes) {
            return Some((auth_token, *peer));
        }
        let id = self.mask.unmask(bytes)?;
        let known = self.known.read();
        let client = known.by_id.get(&id)?;
        Some((client.auth_token.open_as(bytes)?, client.peer))
    }

    /// The name of a client; `None` if it is none (any more).
    pub(crate) fn name(&self, peer: PeerId) -> Option<String> {
        if peer == self.shared.1 {
            return Some(SHARED.to_owned());
        }
        let known = self.known.read();
        known.by_id.get(&client_id(peer)).map(|client| client.name.to_string())
    }

    /// True if the client has the serving end's own key.
    pub(crate) fn is_shared(&self, peer: PeerId) -> bool {
        peer == self.shared.1
    }

    /// All clients with keys of their own, by name.
    pub(crate) fn all(&self) -> Vec<(String, PeerId)> {
        let known = self.known.read();
        let mut all: Vec<_> =
            known.by_id.values().map(|client| (client.name.to_string(), client.peer)).collect();
        all.sort();
        all
    }

    /// Identity of those that have the serving end's own key.
    pub(crate) fn shared_peer(&self) -> PeerId {
        self.shared.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.key");
        Key::generate().unwrap().write(&file).unwrap();
        (folder, file)
    }

    #[test]
    fn clients_are_added_listed_and_revoked() {
        let (folder, server) = server();
        let at = |name: &str| folder.path().join(name);
        assert!(list_clients(&server).unwrap().is_empty());
        add_client("phone", &server, &at("phone.key")).unwrap();
        add_client("laptop", &server, &at("laptop.key")).unwrap();
        assert_eq!(list_clients(&server).unwrap(), ["laptop", "phone"]);
        let twice = add_client("phone", &server, &at("other.key")).unwrap_err().to_string();
        assert!(twice.contains("there is a client phone already"), "{twice}");
        assert!(!at("other.key").exists());
        let there = add_client("tablet", &server, &at("phone.key")).unwrap_err().to_string();
        assert!(there.contains("it is there already"), "{there}");
        let unknown = revoke_client("tablet", &server).unwrap_err().to_string();
        assert!(unknown.contains("expected one of laptop, phone"), "{unknown}");
        revoke_client("phone", &server).unwrap();
        assert_eq!(list_clients(&server).unwrap(), ["laptop"]);
        #[cfg(unix)]
        {
            let about = fs::metadata(clients_file(&server)).unwrap();
            assert_eq!(std::os::unix::fs::MetadataExt::mode(&about) & 0o777, 0o600);
        }
    }

    #[test]
    fn names_have_no_characters_that_mean_something_elsewhere() {
        for good in ["a", "laptop-2", "x.y_z", &"a".repeat(32)] {
            assert!(good.parse::<ClientName>().is_ok(), "{good}");
        }
        for bad in
            ["", "a b", "-a", ".a", "a\nb", "ä", "a/b", "\x1b[1m", "(shared key)", &"a".repeat(33)]
        {
            assert!(bad.parse::<ClientName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_by_its_line() {
        let key = "0".repeat(64);
        for (text, said) in [
            (String::new(), "no list"),
            (format!("{LABEL}\nlaptop\n"), "line 2"),
            (format!("{LABEL}\nlaptop {key}\nlap\u{7f}top {key}\n"), "line 3"),
            (format!("{LABEL}\nlaptop {key}\nphone {key}\n"), "there twice"),
            (format!("{LABEL}\na {key}\na {}\n", "1".repeat(64)), "there twice"),
        ] {
            let e = parse(&text).unwrap_err().at_file("f").to_string();
            assert!(e.contains(said) || e.contains(&said.replace("line ", "f:")), "{e}");
        }
    }

    #[test]
    fn a_running_server_hears_of_new_clients_and_of_those_that_are_none_any_more() {
        let (folder, server) = server();
        let key = Key::read(&server).unwrap();
        let clients = Clients::open(&key, Some(clients_file(&server))).unwrap();
        let at = |name: &str| folder.path().join(name);
        add_client("laptop", &server, &at("laptop.key")).unwrap();
        add_client("phone", &server, &at("phone.key")).unwrap();
        assert_eq!(clients.refresh().unwrap(), []);
        let laptop = ClientKey::read(&at("laptop.key")).unwrap().peer().unwrap();
        assert_eq!(clients.name(laptop).as_deref(), Some("laptop"));
        revoke_client("laptop", &server).unwrap();
        assert_eq!(clients.refresh().unwrap(), [("laptop".parse().unwrap(), laptop)]);
        assert_eq!(clients.refresh().unwrap(), []);
        assert_eq!(clients.name(laptop), None);
        // One of the same name is another.
        add_client("laptop", &server, &at("laptop2.key")).unwrap();
        clients.refresh().unwrap();
        assert_eq!(clients.name(laptop), None);
        // A list that cannot be read changes nothing, one that is gone ends all.
        fs::write(clients_file(&server), "broken").unwrap();
        assert!(clients.refresh().is_err());
        assert_eq!(clients.all().len(), 2);
        fs::remove_file(clients_file(&server)).unwrap();
        assert_eq!(clients.refresh().unwrap().len(), 2);
    }
}

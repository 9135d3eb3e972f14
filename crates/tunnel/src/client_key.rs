//! The key of a tunnel's client: who it is, and which server it talks to.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use airlane_base::InputError;
use airlane_multipath::PeerId;
use airlane_quic::{PinnedKeys, PublicKey, QuicError, Tls, Trust};

use super::auth_token::{MaskKey, TokenKey, TokenSigner, client_id};
use super::clients::ClientName;
use super::key::{self, BYTES, FILE_BYTES, Key, from_hex, random, to_hex};
use airlane_host::secret_file;

/// First line of a client's key file.
const LABEL: &str = "airlane-tunnel-client-1";
const EXPECTED: &str = "expected a file that `airlane tunnel key --client NAME` wrote";

/// A client's key. It is never shown.
#[derive(Clone)]
pub struct ClientKey {
    /// The secret part of its identity.
    identity: [u8; BYTES],
    /// The public key of its server.
    server: PeerId,
    auth_token: AuthTokenKeys,
}

/// Keys that its first packets are made with.
#[derive(Clone)]
enum AuthTokenKeys {
    /// The serving end's own key.
    Shared(TokenKey),
    Own {
        name: ClientName,
        secret: [u8; BYTES],
        mask: [u8; BYTES],
    },
}

impl std::fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientKey(..)")
    }
}

/// True if the text of a file is that of a client's key.
pub(crate) fn is_one(text: &str) -> bool {
    text.lines().next() == Some(LABEL)
}

impl ClientKey {
    /// A new key of a client of the server with this key.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(crate) fn generate(name: ClientName, server: &Key) -> Result<Self, InputError> {
        let identity = random()?;
        let secret = server.client_token_key(key::public(&identity)?);
        Ok(Self {
            identity,
            server: key::public(&server.server_identity())?,
            auth_token: AuthTokenKeys::Own { name, secret, mask: server.mask() },
        })
    }

    /// The key of any client that has the serving end's own.
    ///
    /// # Errors
    /// Never: any key will do.
    pub fn shared(server: &Key) -> Result<Self, InputError> {
        Ok(Self {
            identity: server.shared_identity(),
            server: key::public(&server.server_identity())?,
            auth_token: AuthTokenKeys::Shared(server.shared_token_key()),
        })
    }

    /// True if it is the serving end's own key.
    pub fn is_shared(&self) -> bool {
        matches!(self.auth_token, AuthTokenKeys::Shared(_))
    }

    /// Identity of the client to the server.
    pub(crate) fn peer(&self) -> Result<PeerId, InputError> {
        key::public(&self.identity)
    }

    /// Reads it from a file; the serving end's own will do too.
    ///
    /// # Errors
    /// If the file cannot be read, holds no key, or may be read by others than its owner.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let text = String::from_utf8_lossy(&secret_file::read(file, FILE_BYTES)?).into_owned();
        let read = match is_one(&text) {
            true => Self::parse(&text),
            false => Key::parse(&text).and_then(|key| Self::shared(&key)),
        };
        read.map_err(|e| e.at_file(file))
    }

    /// Writes it into a new file that its owner alone may read.
    ///
    /// # Errors
    /// If there is such a file already, or it cannot be written.
    pub(crate) fn write(&self, file: &Path) -> Result<(), InputError> {
        key::write_new(file, &self.text())
    }

    fn text(&self) -> String {
        let mut text = format!("{LABEL}\n");
        if let AuthTokenKeys::Own { name, secret, mask } = &self.auth_token {
            let _ = writeln!(text, "name {name}");
            for (key, value) in [
                ("identity", &self.identity),
                ("knock", secret),
                ("mask", mask),
                ("server", &self.server),
            ] {
                let _ = writeln!(text, "{key} {}", to_hex(value));
            }
        }
        text
    }

    fn parse(text: &str) -> Result<Self, InputError> {
        let wrong = |found: String| InputError::new(found, EXPECTED);
        let mut lines = text.lines().skip(1);
        let mut next = |key: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(key)?.strip_prefix(' '));
            line.ok_or_else(|| wrong(format!("a client's key without {key}")))
        };
        let name = next("name")?;
        let name = name.parse().map_err(|e: InputError| wrong(e.to_string()))?;
        let mut bytes = |key: &str| {
            from_hex(next(key)?).ok_or_else(|| wrong(format!("a client's key with a broken {key}")))
        };
        let (identity, secret, mask) = (bytes("identity")?, bytes("knock")?, bytes("mask")?);
        let server = bytes("server")?;
        Ok(Self { identity, server, auth_token: AuthTokenKeys::Own { name, secret, mask } })
    }

    /// Signer of the tokens in its first packets.
    pub(crate) fn auth_token(&self) -> Result<TokenSigner, InputError> {
        Ok(match &self.auth_token {
            AuthTokenKeys::Shared(key) => TokenSigner::Shared(key.clone()),
            AuthTokenKeys::Own { secret, mask, .. } => TokenSigner::Client {
                id: client_id(self.peer()?),
                key: TokenKey::new(secret),
                mask: MaskKey::new(mask),
            },
        })
    }

    /// TLS identity that it shows, and the server's key that it asks for.
    pub(crate) fn tls(&self) -> Result<Tls, QuicError> {
        let server = PinnedKeys::new([PublicKey::ed25519(&self.server)]);
        key::tls(&self.identity, Trust::Mutual(Arc::new(server)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_key_comes_back_from_its_file_and_holds_nothing_of_the_servers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("laptop.key");
        let server = Key::generate().unwrap();
        let key = ClientKey::generate("laptop".parse().unwrap(), &server).unwrap();
        key.write(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        for secret in [server.server_identity(), server.shared_identity()] {
            assert!(!text.contains(&to_hex(&secret)));
        }
        let read = ClientKey::read(&file).unwrap();
        assert_eq!(read.text(), text);
        assert!(!read.is_shared());
        let other = ClientKey::generate("phone".parse().unwrap(), &server).unwrap();
        assert_ne!(other.peer().unwrap(), key.peer().unwrap());
        assert_ne!(other.text(), text);
        let said = Key::read(&file).unwrap_err().to_string();
        assert!(said.contains("this is a client's key"), "{said}");
    }

    #[test]
    fn the_servers_own_key_will_do_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let server = Key::generate().unwrap();
        server.write(&file).unwrap();
        assert!(ClientKey::read(&file).unwrap().is_shared());
        let good = ClientKey::generate("laptop".parse().unwrap(), &server).unwrap().text();
        for (i, bad) in [
            good.replace("name laptop", "name lap top"),
            good.replace("server ", "server 0"),
            good.replace("mask ", "musk "),
            good.lines().take(4).collect::<Vec<_>>().join("\n"),
        ]
        .iter()
        .enumerate()
        {
            let file = folder.path().join(format!("bad{i}"));
            key::write_new(&file, bad).unwrap();
            let said = ClientKey::read(&file).unwrap_err().to_string();
            assert!(said.contains(EXPECTED), "{said}");
        }
    }
}

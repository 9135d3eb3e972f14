//! The certificates that a server shows, kept up to date while it runs.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use airlane_base::InputError;
use airlane_quic::{Certificates, Identity};
use parking_lot::Mutex;
use ring::digest::{Context, Digest, SHA256};

use super::{CertificateFiles, Development, development, own_names};
use crate::CertificateError;

/// Certificates that a server shows: those of files, or one for development. They are replaced while it runs
/// when there are newer ones.
#[derive(Debug)]
pub struct ServedCertificates {
    source: Source,
    certificates: Arc<Certificates>,
    state: Mutex<State>,
}

/// Source of the certificates.
#[derive(Debug)]
enum Source {
    Files(Vec<CertificateFiles>),
    Development { folder: Option<PathBuf>, names: Vec<String> },
}

#[derive(Debug)]
struct State {
    /// Of the files' content that is shown; `None`: the certificate is one for development.
    shown: Option<Digest>,
    development: Option<Development>,
    /// Content that could not be used at the last look.
    unfit: Option<Unfit>,
}

/// Content that cannot be shown, or the failure to renew.
#[derive(Debug)]
struct Unfit {
    /// Of the content, or of what went wrong.
    digest: Digest,
    is_told: bool,
}

/// Outcome of a refresh.
#[derive(Debug)]
pub enum Refresh {
    /// All is as it was, or as was reported before.
    Unchanged,
    /// Others are shown from now on.
    Changed,
    /// The content that is there cannot be shown: what was shown stays.
    Unfit(CertificateError),
}

/// The content of the files, in their order, as far as it can be read.
struct Content(Vec<[std::io::Result<Vec<u8>>; 2]>);

impl ServedCertificates {
    /// Begins to show the certificates of `files`; where there is none, the one for development in
    /// `folder`, for a server that listens at `addresses`. Also the first one's secret for `purpose`
    /// ([`Identity::secret`]), which does not change with the certificates.
    ///
    /// # Errors
    /// If a file cannot be read or is of no use, or the folder cannot be written.
    pub fn new(
        files: Vec<CertificateFiles>,
        folder: Option<PathBuf>,
        addresses: &[IpAddr],
        (purpose, now_s): (&str, u64),
    ) -> Result<(Self, [u8; 32]), CertificateError> {
        let source = match files.is_empty() {
            true => Source::Development { folder, names: own_names(addresses) },
            false => Source::Files(files),
        };
        let (identities, state) = source.load(now_s)?;
        let secret = identities.first().map(|i| i.secret(purpose)).unwrap_or_default();
        let certificates = Certificates::new(identities)?;
        Ok((Self { source, certificates, state: Mutex::new(state) }, secret))
    }

    /// The certificates that are shown now.
    pub fn shown(&self) -> &Arc<Certificates> {
        &self.certificates
    }

    /// The certificate for development that is shown, if it is one.
    pub fn development(&self) -> Option<Development> {
        self.state.lock().development.clone()
    }

    /// Reads everything again and shows it.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); what was shown then stays.
    pub fn reload(&self, now_s: u64) -> Result<(), CertificateError> {
        let (identities, state) = self.source.load(now_s)?;
        let mut kept = self.state.lock();
        self.certificates.replace(identities)?;
        *kept = state;
        Ok(())
    }

    /// Looks whether files have another content than what is shown, or the certificate for
    /// development is to be renewed, and shows what is new.
    ///
    /// Files are replaced one after the other: what does not fit together at one look may at the
    /// next. It is told of at the second look that finds it, and once.
    pub fn refresh(&self, now_s: u64) -> Refresh {
        let shown = match &self.source {
            Source::Files(files) => {
                if !files.iter().all(CertificateFiles::can_be_read_again) {
                    return Refresh::Unchanged;
                }
                let content = Content::read(files);
                let digest = content.digest();
                let mut state = self.state.lock();
                if state.shown.is_some_and(|s| s.as_ref() == digest.as_ref()) {
                    state.unfit = None;
                    return Refresh::Unchanged;
                }
                drop(state);
                content.parse(files).map_err(|e| (digest, e.into())).map(|identities| {
                    (identities, State { shown: Some(digest), development: None, unfit: None })
                })
            }
            Source::Development { .. } => {
                let is_due = |d: &Development| d.is_due(now_s);
                if !self.state.lock().development.as_ref().is_some_and(is_due) {
                    return Refresh::Unchanged;
                }
                self.source.load(now_s).map_err(|e| (digest_of(&e.to_string()), e))
            }
        };
        let mut kept = self.state.lock();
        match shown {
            Ok((identities, state)) => match self.certificates.replace(identities) {
                Ok(()) => {
                    *kept = state;
                    Refresh::Changed
                }
                Err(e) => Refresh::Unfit(e.into()),
            },
            Err((digest, e)) => match &mut kept.unfit {
                Some(unfit) if unfit.digest.as_ref() == digest.as_ref() => {
                    match std::mem::replace(&mut unfit.is_told, true) {
                        true => Refresh::Unchanged,
                        false => Refresh::Unfit(e),
                    }
                }
                unfit => {
                    *unfit = Some(Unfit { digest, is_told: false });
                    Refresh::Unchanged
                }
            },
        }
    }
}

impl Source {
    /// Reads all certificates, or makes the one for development.
    fn load(&self, now_s: u64) -> Result<(Vec<Identity>, State), CertificateError> {
        match self {
            Self::Files(files) => {
                let content = Content::read(files);
                let state = State { shown: Some(content.digest()), development: None, unfit: None };
                Ok((content.parse(files)?, state))
            }
            Self::Development { folder, names } => {
                let (identity, made) = development(folder.as_deref(), names, now_s)?;
                Ok((vec![identity], State { shown: None, development: Some(made), unfit: None }))
            }
        }
    }
}

impl Content {
    fn read(files: &[CertificateFiles]) -> Self {
        Self(files.iter().map(|f| [fs::read(&f.chain), fs::read(&f.key)]).collect())
    }

    fn digest(&self) -> Digest {
        let mut context = Context::new(&SHA256);
        for file in self.0.iter().flatten() {
            let (is_read, bytes) = match file {
                Ok(bytes) => (1, bytes.clone()),
                Err(e) => (0, e.to_string().into_bytes()),
            };
            context.update(&[is_read]);
            context.update(&(bytes.len() as u64).to_be_bytes());
            context.update(&bytes);
        }
        context.finish()
    }

    fn parse(self, files: &[CertificateFiles]) -> Result<Vec<Identity>, InputError> {
        let all = files.iter().zip(self.0).map(|(files, [chain, key])| {
            let chain =
                chain.map_err(|e| InputError::io(&files.chain, "read the certificates", &e))?;
            let key = key.map_err(|e| InputError::io(&files.key, "read the private key", &e))?;
            files.parse(&chain, &key)
        });
        all.collect()
    }
}

fn digest_of(text: &str) -> Digest {
    ring::digest::digest(&SHA256, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: u64 = 86_400;
    const NOW_S: u64 = 1_800_000_000;

    #[test]
    fn a_development_certificate_renews_itself_and_the_secret_stays() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("data");
        let (keeper, secret) =
            ServedCertificates::new(Vec::new(), Some(folder.clone()), &[], ("reset", NOW_S))
                .unwrap();
        let first = keeper.development().unwrap();
        assert!(matches!(keeper.refresh(NOW_S + 9 * DAY_S), Refresh::Unchanged));
        assert_eq!(keeper.development().unwrap().sha256, first.sha256);
        assert!(matches!(keeper.refresh(NOW_S + 10 * DAY_S), Refresh::Changed));
        let second = keeper.development().unwrap();
        assert_ne!(second.spki_sha256, first.spki_sha256);
        assert_eq!(second.until_s, NOW_S + 23 * DAY_S);
        assert!(matches!(keeper.refresh(NOW_S + 10 * DAY_S + 5), Refresh::Unchanged));
        // One who is started now shows the new one, and has its secret.
        let (next, other) =
            ServedCertificates::new(Vec::new(), Some(folder), &[], ("reset", NOW_S + 11 * DAY_S))
                .unwrap();
        assert_eq!(next.development().unwrap().sha256, second.sha256);
        assert_ne!(secret, other);
    }

    #[test]
    fn a_certificate_that_cannot_be_renewed_is_told_of_once() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("data");
        let (keeper, _) =
            ServedCertificates::new(Vec::new(), Some(folder.clone()), &[], ("reset", NOW_S))
                .unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "a file").unwrap();
        let late = NOW_S + 12 * DAY_S;
        assert!(matches!(keeper.refresh(late), Refresh::Unchanged));
        assert!(matches!(keeper.refresh(late), Refresh::Unfit(_)));
        assert!(matches!(keeper.refresh(late), Refresh::Unchanged));
        std::fs::remove_file(&folder).unwrap();
        assert!(matches!(keeper.refresh(late), Refresh::Changed));
    }

    #[test]
    fn a_pair_that_is_half_replaced_is_waited_for() {
        let around = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = around.path().join(name);
            development(Some(&folder), &["localhost".to_owned()], NOW_S).unwrap();
            std::fs::read_to_string(folder.join("development.pem")).unwrap()
        };
        let (one, two) = (make("one"), make("two"));
        let file = |name: &str, text: &str| {
            std::fs::write(around.path().join(name), text).unwrap();
            around.path().join(name)
        };
        let files = CertificateFiles { chain: file("chain.pem", &one), key: file("key.pem", &one) };
        let (keeper, _) =
            ServedCertificates::new(vec![files], None, &[], ("reset", NOW_S)).unwrap();
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Unchanged));
        // The key comes a moment after the certificates.
        file("chain.pem", &two);
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Unchanged));
        file("key.pem", &two);
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Changed));
        // It does not come at all, and then half of it.
        file("chain.pem", &one);
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Unchanged));
        let Refresh::Unfit(why) = keeper.refresh(NOW_S) else { panic!("nothing was told") };
        assert!(why.to_string().contains("key.pem: the private key is of no use"), "{why}");
        for _ in 0..3 {
            assert!(matches!(keeper.refresh(NOW_S), Refresh::Unchanged));
        }
        file("key.pem", &one[..one.len() - 100]);
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Unchanged));
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Unfit(_)));
        file("key.pem", &one);
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Changed));
        std::fs::remove_file(around.path().join("key.pem")).unwrap();
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Unchanged));
        assert!(matches!(keeper.refresh(NOW_S), Refresh::Unfit(_)));
    }
}

//! A handshake that is over before it begins: the keys were given to both ends.

use std::time::{Duration, Instant};

use str0m::config::{DtlsCert, DtlsVersion, KeyingMaterial};
use str0m::crypto::CryptoError;
use str0m::crypto::dtls::{
    DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, ProtocolVersion, SrtpProfile,
};

/// The profile that both ends use.
const PROFILE: SrtpProfile = SrtpProfile::AEAD_AES_128_GCM;

/// Later than anything that happens.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Makes handshakes from keys that were agreed on.
#[derive(Debug)]
pub(super) struct Agreed;

impl DtlsProvider for Agreed {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        // There is none without the keys; `pair` gives one to each end.
        None
    }

    fn new_dtls(
        &self,
        cert: &DtlsCert,
        now: Instant,
        _version: DtlsVersion,
        _mtu: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        let keys = cert.private_key.get(..PROFILE.keying_material_len());
        let keys = keys.ok_or_else(|| CryptoError::Other("keys are too short".to_owned()))?;
        Ok(Box::new(Handshake {
            keys: keys.to_vec(),
            never: now + NEVER,
            active: false,
            step: Step::Keys,
        }))
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Keys,
    Connected,
    Done,
}

struct Handshake {
    keys: Vec<u8>,
    never: Instant,
    active: bool,
    step: Step,
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handshake").field("step", &self.step).finish_non_exhaustive()
    }
}

impl DtlsInstance for Handshake {
    fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    fn handle_packet(&mut self, _packet: &[u8]) -> Result<(), DtlsImplError> {
        // Nobody sends any; a stray one is none of ours.
        Ok(())
    }

    fn poll_output<'a>(&mut self, _buffer: &'a mut [u8]) -> DtlsOutput<'a> {
        match self.step {
            Step::Keys => {
                self.step = Step::Connected;
                DtlsOutput::KeyingMaterial(KeyingMaterial::new(&self.keys), PROFILE)
            }
            Step::Connected => {
                self.step = Step::Done;
                DtlsOutput::Connected
            }
            Step::Done => DtlsOutput::Timeout(self.never),
        }
    }

    fn handle_timeout(&mut self, _now: Instant) -> Result<(), DtlsImplError> {
        Ok(())
    }

    fn send_application_data(&mut self, data: &[u8]) -> Result<usize, DtlsImplError> {
        // Only data channels send any, and there are none.
        Ok(data.len())
    }

    fn is_active(&self) -> bool {
        self.active
    }

    fn protocol_version(&self) -> Option<ProtocolVersion> {
        None
    }

    fn close(&mut self) -> Result<(), DtlsImplError> {
        Ok(())
    }
}

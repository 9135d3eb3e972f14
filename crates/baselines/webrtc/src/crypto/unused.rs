//! The profiles of SRTP that the handshake never picks: whatever they are asked is refused.

use str0m::crypto::{
    AeadAes256Gcm, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, CryptoError, SupportedAeadAes256Gcm,
    SupportedAes128CmSha1_80,
};

/// One of them.
#[derive(Debug)]
pub(super) struct Unused;

fn refused<T>() -> Result<T, CryptoError> {
    Err(CryptoError::Other("this profile is not used".to_owned()))
}

impl SupportedAes128CmSha1_80 for Unused {
    fn create_cipher(&self, _key: [u8; 16], _encrypt: bool) -> Box<dyn Aes128CmSha1_80Cipher> {
        Box::new(Self)
    }
}

impl SupportedAeadAes256Gcm for Unused {
    fn create_cipher(&self, _key: [u8; 32], _encrypt: bool) -> Box<dyn AeadAes256GcmCipher> {
        Box::new(Self)
    }
}

impl Aes128CmSha1_80Cipher for Unused {
    fn encrypt(&mut self, _: &[u8; 16], _: &[u8], _: &mut [u8]) -> Result<(), CryptoError> {
        refused()
    }

    fn decrypt(&mut self, _: &[u8; 16], _: &[u8], _: &mut [u8]) -> Result<(), CryptoError> {
        refused()
    }
}

impl AeadAes256GcmCipher for Unused {
    fn encrypt(
        &mut self,
        _: &[u8; AeadAes256Gcm::IV_LEN],
        _: &[u8],
        _: &[u8],
        _: &mut [u8],
    ) -> Result<(), CryptoError> {
        refused()
    }

    fn decrypt(
        &mut self,
        _: &[u8; AeadAes256Gcm::IV_LEN],
        _: &[&[u8]],
        _: &[u8],
        _: &mut [u8],
    ) -> Result<usize, CryptoError> {
        refused()
    }
}

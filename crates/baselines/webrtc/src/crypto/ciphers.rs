//! The ciphers of SRTP: AEAD_AES_128_GCM of ring, or one of its sizes that does nothing.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;
use str0m::crypto::{
    AeadAes128Gcm, AeadAes128GcmCipher, CryptoError, SrtpProvider, SupportedAeadAes128Gcm,
    SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};

use super::unused::Unused;

/// Provider of ciphers.
#[derive(Debug)]
pub(super) enum Srtp {
    Null,
    Sealed,
}

impl SrtpProvider for Srtp {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        &Unused
    }

    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        match self {
            Self::Null => &Srtp::Null,
            Self::Sealed => &Srtp::Sealed,
        }
    }

    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        &Unused
    }

    fn srtp_aes_128_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        derive(key, input, output);
    }

    fn srtp_aes_256_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        derive(key, input, output);
    }
}

/// A pseudo-random function in place of the AES block of RFC 3711, 4.3.3, which ring does not
/// offer. Both ends are ours, so nobody else has to derive the same session keys.
fn derive(key: &[u8], input: &[u8], output: &mut [u8]) {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), input);
    for (to, from) in output.iter_mut().zip(tag.as_ref()) {
        *to = *from;
    }
}

impl SupportedAeadAes128Gcm for Srtp {
    fn create_cipher(&self, key: [u8; 16], _encrypt: bool) -> Box<dyn AeadAes128GcmCipher> {
        match self {
            Self::Null => Box::new(Null),
            // The key has the algorithm's length; without one, nothing is let through.
            Self::Sealed => {
                Box::new(Gcm(UnboundKey::new(&AES_128_GCM, &key).ok().map(LessSafeKey::new)))
            }
        }
    }
}

/// Bytes of a tag.
const TAG: usize = AeadAes128Gcm::TAG_LEN;

fn refused(what: &str) -> CryptoError {
    CryptoError::Other(what.to_owned())
}

/// Leaves everything as it is, with a tag of zeros.
#[derive(Debug)]
struct Null;

impl AeadAes128GcmCipher for Null {
    fn encrypt(
        &mut self,
        _iv: &[u8; AeadAes128Gcm::IV_LEN],
        _aad: &[u8],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), CryptoError> {
        let too_short = || refused("no room for a packet and its tag");
        let (text, rest) = output.split_at_mut_checked(input.len()).ok_or_else(too_short)?;
        text.copy_from_slice(input);
        rest.get_mut(..TAG).ok_or_else(too_short)?.fill(0);
        Ok(())
    }

    fn decrypt(
        &mut self,
        _iv: &[u8; AeadAes128Gcm::IV_LEN],
        _aads: &[&[u8]],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let (text, room) = open(input, output)?;
        room.copy_from_slice(text.0);
        Ok(text.0.len())
    }
}

/// A packet's text and tag, and the room for the text.
type Opened<'i, 'o> = ((&'i [u8], &'i [u8]), &'o mut [u8]);

fn open<'i, 'o>(input: &'i [u8], output: &'o mut [u8]) -> Result<Opened<'i, 'o>, CryptoError> {
    let length = input.len().checked_sub(TAG).ok_or_else(|| refused("shorter than a tag"))?;
    let room = output.get_mut(..length).ok_or_else(|| refused("no room for the text"))?;
    Ok((input.split_at(length), room))
}

#[derive(Debug)]
struct Gcm(Option<LessSafeKey>);

impl Gcm {
    fn key(&self) -> Result<&LessSafeKey, CryptoError> {
        self.0.as_ref().ok_or_else(|| refused("no key"))
    }
}

impl AeadAes128GcmCipher for Gcm {
    fn encrypt(
        &mut self,
        iv: &[u8; AeadAes128Gcm::IV_LEN],
        aad: &[u8],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), CryptoError> {
        let too_short = || refused("no room for a packet and its tag");
        let (text, rest) = output.split_at_mut_checked(input.len()).ok_or_else(too_short)?;
        text.copy_from_slice(input);
        let nonce = Nonce::assume_unique_for_key(*iv);
        let sealed = self.key()?.seal_in_place_separate_tag(nonce, Aad::from(aad), text);
        let tag = sealed.map_err(|_| refused("sealing failed"))?;
        rest.get_mut(..TAG).ok_or_else(too_short)?.copy_from_slice(tag.as_ref());
        Ok(())
    }

    fn decrypt(
        &mut self,
        iv: &[u8; AeadAes128Gcm::IV_LEN],
        aads: &[&[u8]],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let ((text, _), room) = open(input, output)?;
        let mut whole = input.to_vec();
        let nonce = Nonce::assume_unique_for_key(*iv);
        let opened = self.key()?.open_in_place(nonce, Aad::from(aads.concat()), &mut whole);
        let opened = opened.map_err(|_| refused("a packet was damaged"))?;
        room.copy_from_slice(opened);
        Ok(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ciphers_give_back_what_they_took_and_have_one_size() {
        for srtp in [Srtp::Null, Srtp::Sealed] {
            let mut cipher = srtp.aead_aes_128_gcm().create_cipher([7; 16], true);
            let mut sealed = [0xff; 100 + TAG];
            cipher.encrypt(&[1; 12], &[2; 12], &[3; 100], &mut sealed).unwrap();
            let mut text = [0; 100];
            let length = cipher.decrypt(&[1; 12], &[&[2; 6], &[2; 6]], &sealed, &mut text).unwrap();
            assert_eq!((length, text), (100, [3; 100]));
            assert!(cipher.decrypt(&[1; 12], &[&[2; 12]], &sealed[..TAG - 1], &mut text).is_err());
            assert!(cipher.decrypt(&[1; 12], &[&[2; 12]], &sealed, &mut [0; 99]).is_err());
            assert!(cipher.encrypt(&[1; 12], &[2; 12], &[3; 100], &mut [0; 110]).is_err());
        }
        let mut gcm = Srtp::Sealed.aead_aes_128_gcm().create_cipher([7; 16], false);
        assert!(gcm.decrypt(&[1; 12], &[&[2; 12]], &[0; 100], &mut [0; 84]).is_err());
    }
}

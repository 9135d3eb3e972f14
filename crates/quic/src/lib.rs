//! QUIC and HTTP/3: the only crate that names noq and h3.

//! ViVo (Han, Liu, Qian, MobiCom 2020), as the Octopus paper compares with it: a viewer of point clouds
//! who asks for each frame at the densities that the last ones came fast enough for.
//! `docs/design/vivo.md`.

mod adaptation;
mod roles;

pub use adaptation::{Adaptation, Density, HISTORY, densities};
pub use roles::{AskedFrame, Offer, serve_one, watch};

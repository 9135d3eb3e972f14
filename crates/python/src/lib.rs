//! The module `airlane._airlane`: the laboratory for Python.
//!
//! Everything that people call stands in the folder `python` of the repository; this crate is below it. Worlds run on
//! threads of their own without the interpreter's lock; the thread that called waits, passes signals on and reports
//! progress (`worker`). Tables leave through the Arrow C stream interface without a copy (`table`).

mod cores;
mod errors;
mod pending;
mod program;
mod reproduce;
mod result;
mod run;
mod scenario;
mod schemes;
mod sweep;
mod table;
mod worker;

use pyo3::prelude::*;

/// Worlds allocate a packet here and free it there, on every core at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The laboratory's functions and types below the package `airlane`.
#[pymodule]
mod _airlane {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::cores::cupid::CupidRule;
    #[pymodule_export]
    use crate::cores::fbdt::{FbdtReceiver, FbdtSender};
    #[pymodule_export]
    use crate::cores::minerva::{Normaliser, Title, minerva_optimum};
    #[pymodule_export]
    use crate::cores::octopus::{OctopusQueue, octopus_decode, octopus_encode};
    #[pymodule_export]
    use crate::cores::plum::{plum_fixed_share, plum_solve};
    #[pymodule_export]
    use crate::program::set_program;
    #[pymodule_export]
    use crate::reproduce::{ReproduceFolder, ReproduceWorker, claims};
    #[pymodule_export]
    use crate::result::RunOutcome;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::scenario::{check, embedded, keys, text_of};
    #[pymodule_export]
    use crate::schemes::{Ack, Loss, PlayerView, QueuedPacket, ReceiverView, VideoView};
    #[pymodule_export]
    use crate::sweep::{SweepFolder, SweepWorker};
    #[pymodule_export]
    use crate::table::Table;

    /// Version of Airlane.
    #[pymodule_export]
    const VERSION: &str = airlane_sim::VERSION;
    /// Commit of Airlane that the module was built from.
    #[pymodule_export]
    const COMMIT: &str = airlane_sim::COMMIT;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::worker::keep_panics_of_runs();
        Ok(())
    }
}

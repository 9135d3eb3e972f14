//! The runs behind claims in their folder: those that an earlier start finished, those of another build, those of now.

use std::collections::BTreeMap;
use std::path::Path;

use airlane_base::InputError;
use airlane_sim::workload::{ClaimRecord, ClaimRun};
use airlane_sim::{Common, LabError, OutFolder};

use super::adoption::Adoption;
use super::worlds::ClaimWorlds;
use crate::journal::{self, Journal, JournalKind};
use crate::pending::PendingWorld;
use crate::request::ReproduceRequest;

/// Claims under measurement in their folder: worlds, the journal of those that have finished, and their runs.
pub struct Reproduction<'a> {
    pub(super) worlds: ClaimWorlds<'a>,
    pub(super) folder: OutFolder,
    pub(super) journal: Journal,
    /// Run of each world that has finished.
    pub(super) runs: Vec<Option<ClaimRun>>,
    /// Number of runs that were there before.
    pub(super) reused: usize,
    /// Number of lines of the journal that could not be used.
    pub(super) damaged: usize,
    /// Number of runs of another build that do not count.
    pub(super) refused: usize,
}

impl<'a> Reproduction<'a> {
    /// Opens the journal in the folder of a request and takes over what it has, unless all is to begin anew. Runs of
    /// another build that the request adopts count once some of them were repeated here.
    ///
    /// # Errors
    /// If the request cannot be met, or the disk refuses; the first fault of a run that is repeated.
    pub fn open(worlds: ClaimWorlds<'a>, request: &ReproduceRequest<'_>) -> Result<Self, LabError> {
        let common = &request.common;
        if let Some(record) = &request.record {
            if request.quick {
                let found = "a record of a quick run";
                let expected = "expected a run without --quick: quick runs are no verdicts";
                return Err(InputError::new(found, expected).at_key("--record").into());
            }
            record.check(worlds.claims.iter().map(|(_, claim)| claim.id.as_str()))?;
        }
        common.captures.prepare()?;
        let mut opened = Self::of_worlds(worlds, common, request.fresh)?;
        opened.folder = OutFolder::prepare(opened.folder.dir())?;
        if let Some(file) = &request.adopt {
            opened.refused = opened.adopt(file, common, &request.system)?;
        }
        opened.reused = opened.finished();
        Ok(opened)
    }

    /// Opens the journal in the folder of `common`, and takes over what it has.
    pub(super) fn of_worlds(
        worlds: ClaimWorlds<'a>,
        common: &Common<'_>,
        fresh: bool,
    ) -> Result<Self, LabError> {
        // The journal's lock first: the results of a command that still runs are left alone.
        let folder = OutFolder::prove(&common.out)?;
        let (journal, found) = Journal::open(folder.dir(), JournalKind::Reproduce, fresh)?;
        let mut records: BTreeMap<String, ClaimRecord> = found.records;
        if common.captures != Default::default() {
            // Captures are written by runs, not by journals.
            records.clear();
        }
        let restored = worlds.experiments.worlds.iter().enumerate();
        let runs = restored
            .map(|(number, world)| worlds.restored(number, records.remove(&world.id)?))
            .collect();
        let damaged = found.damaged;
        Ok(Self { worlds, folder, journal, runs, reused: 0, damaged, refused: 0 })
    }

    /// Takes over the runs in a journal of another build, after some of them were repeated; how many do not count.
    fn adopt(&mut self, file: &Path, common: &Common<'_>, system: &str) -> Result<usize, LabError> {
        let found = journal::read(file, JournalKind::Reproduce)?;
        let adoption = Adoption::new(&self.worlds.experiments, found.records, &self.runs);
        let witnesses = adoption.witnesses();
        if self.run_wanted(common, system, &|world| witnesses.contains(&world))? {
            return Ok(0);
        }
        let (accepted, refused) = adoption.accepted(&self.runs);
        for (number, record) in accepted {
            self.take_over(number, record, common)?;
        }
        Ok(refused)
    }

    /// Number of worlds that have finished.
    pub(super) fn finished(&self) -> usize {
        self.runs.iter().flatten().count()
    }

    /// Worlds that have to be run, each once.
    pub fn pending(&self) -> Vec<PendingWorld> {
        self.worlds.pending(&self.runs, &|_| true)
    }

    /// Adds the run of a world that ran elsewhere, to the journal too.
    ///
    /// # Errors
    /// If there is no such world, if the record is not of one of its runs, or if the disk refuses.
    pub fn add(
        &mut self,
        number: usize,
        record: ClaimRecord,
        common: &Common<'_>,
    ) -> Result<(), LabError> {
        if self.take_over(number, record, common)? {
            return Ok(());
        }
        Err(LabError::fault(format!("the record of run {number} lacks something")))
    }

    /// Takes over the run of a world; false if its record lacks something that is asked for.
    fn take_over(
        &mut self,
        number: usize,
        record: ClaimRecord,
        common: &Common<'_>,
    ) -> Result<bool, LabError> {
        let world = self.worlds.world(number)?;
        if self.runs[number].is_none() {
            let Some(run) = self.worlds.restored(number, record) else { return Ok(false) };
            let label = self.worlds.experiments.list[world.experiment].plan.label(world.key);
            self.journal.add(&world.id, &label, &run.record(), (common.elapsed)())?;
            self.runs[number] = Some(run);
        }
        Ok(true)
    }

    /// Runs every world that has to be run. True if a stop kept some from finishing.
    ///
    /// # Errors
    /// The first fault of a run; what the disk refuses.
    pub fn run_pending(&mut self, common: &Common<'_>, system: &str) -> Result<bool, LabError> {
        self.run_wanted(common, system, &|_| true)
    }

    /// Runs the worlds that have to be run and are wanted by their number, as [`Self::run_pending`] does.
    pub(super) fn run_wanted(
        &mut self,
        common: &Common<'_>,
        system: &str,
        is_wanted: &dyn Fn(usize) -> bool,
    ) -> Result<bool, LabError> {
        let pending = self.worlds.pending(&self.runs, is_wanted);
        let what = match self.finished() {
            0 => format!("reproduce {system}"),
            n => format!("reproduce {system}, {n} of {} runs from before", self.runs.len()),
        };
        let (worlds, journal) = (&self.worlds, &self.journal);
        let (runs, stopped) = worlds.run_all(&pending, &what, common, |world, record| {
            let id = &worlds.world(world.number)?.id;
            Ok(journal.add(id, &world.label, record, (common.elapsed)())?)
        })?;
        for (world, run) in pending.into_iter().zip(runs) {
            self.runs[world.number] = run;
        }
        Ok(stopped)
    }
}

//! Reads the capture, or listens, and keeps the account.

use std::sync::atomic::Ordering;
use std::time::Duration;

use airlane_base::Time;
use airlane_capture::{
    Account, AirSummary, CaptureError, Counts, Decoder, FileCounts, Monitor, Options, Precision,
    Record, Records, Transmission,
};

use super::AirtimeRequest;
use super::grants::{Granting, Grants};
use super::moment::moment;
use super::source::Source;

/// Files above this many bytes take so long that progress is shown.
const LARGE: u64 = 1 << 28;
/// Progress is told, and a stop looked for, once in so many records.
const RECORDS: u64 = 4_096;
/// Maximum time of a wait for a monitor interface before a stop is checked for.
const READ_TIMEOUT: Duration = Duration::from_millis(100);

/// Results of a capture.
pub(super) struct Gathered {
    pub(super) summary: AirSummary,
    /// Rates that Cupid would grant.
    pub(super) grants: Grants,
    pub(super) counts: Counts,
    pub(super) file: FileCounts,
    /// The least exact of the clocks that times are by.
    pub(super) timing: Option<Precision>,
    /// Packets that the kernel dropped.
    pub(super) dropped: u64,
    /// Reason for which listening ended before it should have; `None` if it did not.
    pub(super) broke: Option<String>,
    pub(super) is_stopped: bool,
}

/// Everybody who hears what the capture has.
struct Gatherer {
    decoder: Decoder,
    account: Account,
    granting: Granting,
    timing: Option<Precision>,
    /// Nothing that begins behind this is heard.
    end: Option<Duration>,
    begin: Option<Time>,
    is_over: bool,
}

impl Gatherer {
    fn new(end: Option<Duration>) -> Self {
        Self {
            decoder: Decoder::default(),
            account: Account::new(Options::default()),
            granting: Granting::default(),
            timing: None,
            end,
            begin: None,
            is_over: false,
        }
    }

    fn push(&mut self, record: &Record<'_>) {
        // Those that are malformed are counted.
        let _ = self.decoder.push(record);
        self.take();
    }

    fn take(&mut self) {
        while let Some(transmission) = self.decoder.pop() {
            self.hear(&transmission);
        }
    }

    fn hear(&mut self, transmission: &Transmission) {
        let begin = *self.begin.get_or_insert(transmission.heard.at);
        if self.end.is_some_and(|end| transmission.heard.at.since(begin) > end) {
            self.is_over = true;
            return;
        }
        self.timing = self.timing.max(Some(transmission.timing));
        self.account.add(transmission);
        self.granting.hear(&transmission.heard);
    }

    fn finish(mut self) -> Found {
        self.decoder.finish();
        self.take();
        Found {
            counts: self.decoder.counts().clone(),
            summary: self.account.finish(),
            grants: self.granting.finish(),
            timing: self.timing,
        }
    }
}

/// Results of what was heard.
struct Found {
    summary: AirSummary,
    grants: Grants,
    counts: Counts,
    timing: Option<Precision>,
}

impl Found {
    /// With what is known of the source.
    fn gathered(self, file: FileCounts, is_stopped: bool) -> Gathered {
        let Self { summary, grants, counts, timing } = self;
        let (dropped, broke) = (0, None);
        Gathered { summary, grants, counts, file, timing, dropped, broke, is_stopped }
    }
}

/// Reads a file.
pub(super) fn from_file(request: &AirtimeRequest<'_>) -> Result<Gathered, CaptureError> {
    let failed = |error| CaptureError::Io { doing: "open the file", error };
    let (source, size) = Source::open(&request.source, request.stop.clone()).map_err(failed)?;
    let bytes = source.count();
    let mut records = Records::unzipped(source)?;
    let is_large = size > LARGE;
    if is_large {
        request.progress.begin("reading", size);
    }
    let mut gatherer = Gatherer::new(request.duration);
    let (mut read, mut told, mut is_stopped) = (0_u64, 0, false);
    while let Some(record) = records.read()? {
        gatherer.push(&record);
        read += 1;
        if read.is_multiple_of(RECORDS) {
            if is_large {
                let now = bytes.load(Ordering::Relaxed);
                request.progress.advance(now - told);
                told = now;
            }
            is_stopped = request.stop.is_stopped();
        }
        if is_stopped || gatherer.is_over {
            break;
        }
    }
    if is_large {
        request.progress.end();
    }
    let mut file = records.counts();
    is_stopped |= request.stop.is_stopped();
    // Where the reading was stopped, the file was not cut.
    file.is_cut &= !is_stopped;
    Ok(gatherer.finish().gathered(file, is_stopped))
}

/// Listens on a monitor interface until it is stopped.
pub(super) fn from_interface(request: &AirtimeRequest<'_>, mut monitor: Monitor) -> Gathered {
    let mut gatherer = Gatherer::new(None);
    let mut file = FileCounts::default();
    let begin = (request.elapsed)();
    let (mut second, mut broke) = (1, None);
    loop {
        let passed = (request.elapsed)().saturating_sub(begin);
        let is_over = request.duration.is_some_and(|most| passed >= most);
        if is_over || request.stop.is_stopped() {
            break;
        }
        if passed.as_secs() >= second {
            second = passed.as_secs() + 1;
            let summary = gatherer.account.clone().finish();
            (request.say)(&moment(passed, &summary));
        }
        match monitor.read(READ_TIMEOUT) {
            Ok(Some(record)) => {
                file.records += 1;
                gatherer.push(&record);
            }
            Ok(None) => {
                gatherer.decoder.finish();
                gatherer.take();
            }
            // The interface is gone: what came until then counts.
            Err(error) => {
                broke = Some(error.to_string());
                break;
            }
        }
    }
    let dropped = monitor.dropped();
    let is_stopped = request.stop.is_stopped();
    Gathered { dropped, broke, ..gatherer.finish().gathered(file, is_stopped) }
}

//! Jobs over threads: order, stops, errors and panics.

use std::sync::atomic::{AtomicUsize, Ordering};

use airlane_base::InputError;
use airlane_sim::LabError;
use airlane_sim::pool::{self, Job, Progress, StopFlag, Ticket};
use parking_lot::Mutex;

fn job<'a, T>(
    seed: u64,
    work: impl FnOnce(&Ticket<'_>) -> Result<T, LabError> + Send + 'a,
) -> Job<'a, T> {
    Job {
        label: format!("job {seed}"),
        seed,
        command: format!("airlane run x --seed {seed}"),
        units: 10,
        work: Box::new(work),
    }
}

#[derive(Default)]
struct Heard {
    begun: Mutex<Vec<(String, u64)>>,
    units: AtomicUsize,
    finished: AtomicUsize,
    ended: AtomicUsize,
}

impl Progress for Heard {
    fn begin(&self, what: &str, units: u64) {
        self.begun.lock().push((what.to_owned(), units));
    }
    fn advance(&self, units: u64) {
        self.units.fetch_add(units as usize, Ordering::Relaxed);
    }
    fn finished(&self, _label: &str) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }
    fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn results_come_in_the_order_of_the_jobs_whatever_the_threads() {
    for threads in [1, 2, 7, 100] {
        let heard = Heard::default();
        let jobs = (0..20u64)
            .map(|i| {
                job(i, move |ticket| {
                    ticket.advance(i);
                    Ok((0..(20 - i) * 1000).fold(i, |a, _| std::hint::black_box(a)))
                })
            })
            .collect();
        let done = pool::run(jobs, threads, "runs", &StopFlag::default(), &heard);
        let results: Vec<u64> = done.results.into_iter().map(Option::unwrap).collect();
        assert_eq!(results, (0..20).collect::<Vec<u64>>());
        assert!(done.error.is_none() && !done.stopped);
        assert_eq!(*heard.begun.lock(), [("runs".to_owned(), 200)]);
        assert_eq!(heard.units.load(Ordering::Relaxed), 200, "each job counts for its units, once");
        assert_eq!(heard.finished.load(Ordering::Relaxed), 20);
        assert_eq!(heard.ended.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn a_stop_keeps_what_has_finished() {
    let stop = StopFlag::default();
    let jobs = (0..5u64)
        .map(|i| {
            let stop = stop.clone();
            job(i, move |ticket| {
                if i == 2 {
                    stop.stop();
                }
                ticket.stop.check().map(|()| i)
            })
        })
        .collect();
    let done = pool::run(jobs, 1, "runs", &stop, &());
    assert_eq!(done.results, [Some(0), Some(1), None, None, None]);
    assert!(done.stopped && done.error.is_none());
}

#[test]
fn a_stop_after_the_last_job_stopped_nothing() {
    let stop = StopFlag::default();
    let late = stop.clone();
    let jobs = vec![job(0, move |_| {
        late.stop();
        Ok(1)
    })];
    let done = pool::run(jobs, 2, "runs", &stop, &());
    assert_eq!((done.results, done.stopped), (vec![Some(1)], false));
}

#[test]
fn a_panic_names_the_seed_and_the_command_that_repeats_it() {
    let jobs = (0..4u64)
        .map(|i| job(i, move |_| if i == 1 { panic!("wheel {i} fell off") } else { Ok(i) }))
        .collect();
    let done = pool::run(jobs, 1, "runs", &StopFlag::default(), &());
    assert_eq!(done.results, [Some(0), None, None, None]);
    let Some(LabError::Fault(fault)) = done.error else { panic!("{:?}", done.error) };
    assert!(fault.what.contains("wheel 1 fell off"), "{}", fault.what);
    let run = fault.run.unwrap();
    assert_eq!((run.seed, run.command.as_str()), (1, "airlane run x --seed 1"));
    assert_eq!(run.label, "job 1");
}

#[test]
fn a_fault_that_a_job_returns_is_completed_with_its_run() {
    let jobs = vec![job(9, |_| Err::<(), _>(LabError::fault("the world stood still at 3 s")))];
    let done = pool::run(jobs, 1, "runs", &StopFlag::default(), &());
    let error = done.error.unwrap();
    assert_eq!(
        (error.to_string().as_str(), error.exit_code()),
        ("the world stood still at 3 s", 70)
    );
    let LabError::Fault(fault) = error else { unreachable!() };
    assert_eq!(fault.run.unwrap().seed, 9);
}

#[test]
fn the_first_error_in_the_order_of_the_jobs_is_reported() {
    let bad = |i| move |_: &Ticket<'_>| Err::<(), _>(InputError::new(format!("no {i}"), "").into());
    let done =
        pool::run(vec![job(0, bad(0)), job(1, bad(1))], 1, "runs", &StopFlag::default(), &());
    let error = done.error.unwrap();
    assert_eq!((error.to_string().as_str(), error.exit_code()), ("no 0", 2));
}

#[test]
fn no_jobs_are_done_at_once() {
    let done = pool::run(Vec::<Job<'_, ()>>::new(), 4, "runs", &StopFlag::default(), &());
    assert!(done.results.is_empty() && done.error.is_none() && !done.stopped);
}

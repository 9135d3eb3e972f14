//! What each verb does: hands the options to the laboratory and prints what comes back.

use std::io::{ErrorKind, Write};

use airlane_base::InputError;
use airlane_lab::LabError;
use airlane_media::{Corpus, CorpusStatistics};
use clap::CommandFactory;

use crate::args::{Cli, CorpusArgs, Verb};

/// Does what the command line says; the exit code.
pub(crate) fn dispatch(cli: Cli) -> Result<u8, LabError> {
    match cli.verb {
        Verb::Corpus(args) => corpus(&args),
        Verb::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(|e| LabError::fault(format!("cannot render the man page: {e}")))?;
            print(&String::from_utf8_lossy(&page))?;
            Ok(0)
        }
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "airlane", &mut script);
            print(&String::from_utf8_lossy(&script))?;
            Ok(0)
        }
    }
}

fn corpus(args: &CorpusArgs) -> Result<u8, LabError> {
    let corpus = match &args.folder {
        Some(folder) => Corpus::load_dir(folder)?,
        None => Corpus::embedded()?,
    };
    print(&CorpusStatistics::of(&corpus, args.metric)?.to_string())?;
    Ok(0)
}

/// The command as it was given, by the program's name wherever it lies.
pub(crate) fn command() -> Vec<String> {
    let options = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
    std::iter::once("airlane".to_owned()).chain(options).collect()
}

/// Prints to the standard output. A pipe that was closed (`| head`) is no error.
fn print(text: &str) -> Result<(), LabError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(InputError::io("standard output", "write", &e).into())
        }
        _ => Ok(()),
    }
}

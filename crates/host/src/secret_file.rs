//! Files and folders that hold secrets: nobody but their owner may read them.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::Path;

use airlane_base::InputError;

/// Makes a folder for secrets, or sees to it that one that is there is its owner's alone (mode
/// 0700).
///
/// # Errors
/// If it cannot be made, or belongs to another user, who could put keys of his own there.
pub fn make_folder(folder: &Path) -> Result<(), InputError> {
    let failed = |e: io::Error| InputError::io(folder, "make this folder", &e);
    if let Some(around) = folder.parent() {
        fs::create_dir_all(around).map_err(failed)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map_err(failed),
    }
    let about = fs::metadata(folder).map_err(failed)?;
    if !about.is_dir() {
        return Err(InputError::new("this is no folder", "expected a folder").at_file(folder));
    }
    if !is_ours(&about) {
        let expected = "expected one of your own: XDG_DATA_HOME names the folder that it is in";
        return Err(InputError::new("the folder is another user's", expected).at_file(folder));
    }
    #[cfg(unix)]
    if is_open(&about) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(folder, mode).map_err(failed)?;
    }
    Ok(())
}

/// Writes a file that nobody else can read (mode 0600) into a folder, in the place of one that has
/// the name, and never half of it.
///
/// # Errors
/// If it cannot be written.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), InputError> {
    let file = folder.join(name);
    let failed = |e: io::Error| InputError::io(&file, "write", &e);
    // Such files have the mode 0600, and are removed where it comes to nothing.
    let mut half = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    half.write_all(bytes).and_then(|()| half.as_file().sync_all()).map_err(failed)?;
    half.persist(&file).map(drop).map_err(|e| failed(e.error))
}

/// Reads a file of at most `most` bytes that was kept as [`write()`] keeps it. `None`: there is no
/// such file, it is too long, or somebody else could have read or written it.
pub fn kept(file: &Path, most: u64) -> Option<Vec<u8>> {
    let open = File::open(file).ok()?;
    let about = open.metadata().ok()?;
    if !about.is_file() || !is_ours(&about) || is_open(&about) || about.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    open.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads a secret that an operator gave, of at most `most` bytes.
///
/// # Errors
/// If the file cannot be read, is longer, or may be read by others than its owner.
pub fn read(file: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    let failed = |e: io::Error| InputError::io(file, "read the key", &e);
    let open = File::open(file).map_err(failed)?;
    let about = open.metadata().map_err(failed)?;
    // Pipes and the like have no mode that would tell anything.
    #[cfg(unix)]
    if about.is_file() && is_open(&about) {
        let mode = std::os::unix::fs::MetadataExt::mode(&about) & 0o777;
        let found = format!("others than its owner may read the key (mode {mode:o})");
        let expected = format!("`chmod 600 {}` changes that", file.display());
        return Err(InputError::new(found, expected).at_file(file));
    }
    let mut bytes = Vec::new();
    open.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        let found = format!("more than {most} bytes");
        return Err(
            InputError::new(found, format!("expected a key of at most {most}")).at_file(file)
        );
    }
    Ok(bytes)
}

/// True if others than the owner have any right.
#[cfg(unix)]
fn is_open(about: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(about) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open(_: &Metadata) -> bool {
    false
}

/// True if the file belongs to the user that this process runs as.
#[cfg(unix)]
fn is_ours(about: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(about) == nix::unistd::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_ours(_: &Metadata) -> bool {
    true
}

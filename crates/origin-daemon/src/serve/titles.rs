//! The titles of a folder: what its manifests name, and what is known of their quality.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::InputError;
use airlane_media::dash::{self, ByteRange, CHUNK_TABLE, Kind, Presentation, Representation};
use airlane_media::mp4::{IndexSearch, find_index};
use airlane_media::{Video, table, url};
use airlane_origin::store::{Part, PartRole};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::files::name_of;

/// Characters that are percent-encoded in a segment of a path (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 8;
/// Index segments of more bytes are not read.
const MAX_INDEX_BYTES: u64 = 16 << 20;
/// Bytes of a file in which its index is looked for at a time, and how often.
const LOOKED_AT_BYTES: u64 = 16 << 10;
const MAX_LOOKS: usize = 8;
/// Manifests at most: what comes after is served, and not weighed.
const MAX_TITLES: usize = 10_000;

/// One title.
#[derive(Clone, Debug)]
pub struct Title {
    /// Its name: the path of its folder below the one that is served, or that of its manifest
    /// without the extension where the folder has several.
    pub name: Arc<str>,
    /// Name of the title, for people.
    pub label: String,
    /// The manifest's path in URLs.
    pub manifest: String,
    /// Paths in URLs of an HLS playlist, a picture and the quality table, if they are there.
    pub hls: Option<String>,
    /// See [`hls`](Self::hls).
    pub poster: Option<String>,
    /// See [`hls`](Self::hls).
    pub table: Option<String>,
    /// Contents of the manifest, with the one ladder that is weighed.
    pub presentation: Arc<Presentation>,
    /// Encodings besides that ladder.
    others: Vec<Representation>,
    /// Qualities of the title's chunks; `None` if there is no table that fits: its viewers get a
    /// plain share.
    pub video: Option<Arc<Video>>,
}

/// All titles of a folder.
#[derive(Clone, Debug, Default)]
pub struct Titles {
    by_name: BTreeMap<Arc<str>, Title>,
    parts: BTreeMap<PathBuf, Part>,
    /// Problems found, for the log.
    pub complaints: Vec<String>,
}

impl Titles {
    /// Looks for titles in `folder` and the folders below it.
    ///
    /// # Errors
    /// If the folder cannot be read. What is wrong with a title is a complaint.
    pub fn scan(folder: &Path) -> Result<Self, InputError> {
        let mut manifests = Vec::new();
        collect(folder, Path::new(""), 0, &mut manifests)
            .map_err(|e| InputError::io(folder, "read", &e))?;
        manifests.sort();
        let mut titles = Self::default();
        if manifests.len() > MAX_TITLES {
            let left = manifests.len() - MAX_TITLES;
            titles.complaints.push(format!("{left} titles beyond {MAX_TITLES} are not weighed"));
            manifests.truncate(MAX_TITLES);
        }
        let mut per_folder: BTreeMap<&Path, usize> = BTreeMap::new();
        for manifest in &manifests {
            *per_folder.entry(parent(manifest)).or_default() += 1;
        }
        for manifest in &manifests {
            let alone = per_folder.get(parent(manifest)) == Some(&1);
            match Title::read(folder, manifest, alone) {
                Ok((title, complaint)) => {
                    let notes = &title.presentation.notes;
                    let at = folder.join(manifest);
                    titles
                        .complaints
                        .extend(notes.iter().map(|n| format!("{}: {n}", at.display())));
                    titles.complaints.extend(complaint);
                    titles.add(title);
                }
                Err(e) => titles.complaints.push(e.to_string()),
            }
        }
        Ok(titles)
    }

    /// The titles, by name.
    pub fn all(&self) -> impl Iterator<Item = &Title> {
        self.by_name.values()
    }

    /// The title of that name.
    pub fn get(&self, name: &str) -> Option<&Title> {
        self.by_name.get(name)
    }

    /// Part of a title at the path of a URL.
    pub fn part(&self, path: &str) -> Option<&Part> {
        self.parts.get(&name_of(path)?)
    }

    fn add(&mut self, title: Title) {
        let base = title.manifest.clone();
        let mut note = |reference: &str, role: PartRole| {
            let path = url::resolve(&base, reference);
            // What lies on another server is not ours to weigh.
            let path = path.split_once('?').map_or(path.as_str(), |(path, _)| path);
            if let Some(name) = name_of(path).filter(|_| !url::is_absolute(path)) {
                self.parts.insert(name, Part { title: title.name.clone(), role });
            }
        };
        for of in title.presentation.all().chain(&title.others) {
            if let Some(init) = &of.init {
                note(&init.url, PartRole::Other);
            }
            for chunk in &of.chunks {
                note(&chunk.object.url, PartRole::Other);
            }
        }
        for (rung, of) in title.presentation.video.iter().enumerate() {
            match whole_file(of) {
                Some((file, begins)) => note(file, PartRole::Pictures { rung, begins }),
                None => {
                    for (chunk, c) in of.chunks.iter().enumerate() {
                        note(&c.object.url, PartRole::Picture { rung, chunk });
                    }
                }
            }
        }
        self.by_name.insert(title.name.clone(), title);
    }
}

/// The one file that all chunks of a representation are in, and where each begins.
fn whole_file(of: &Representation) -> Option<(&str, Arc<[u64]>)> {
    let file = of.chunks.first()?.object.url.as_str();
    let begins =
        of.chunks.iter().map(|c| c.object.range.filter(|_| c.object.url == file).map(|r| r.offset));
    Some((file, begins.collect::<Option<Vec<_>>>()?.into()))
}

impl Title {
    /// Reads the title of a manifest, given below `folder`. Also what is wrong with its table.
    fn read(
        folder: &Path,
        manifest: &Path,
        alone: bool,
    ) -> Result<(Self, Option<String>), InputError> {
        let file = folder.join(manifest);
        let (presentation, others) = read_title(folder, manifest)?;
        let here = parent(manifest);
        let name = match (alone, here.to_str().filter(|h| !h.is_empty())) {
            (true, Some(folder)) => folder.to_owned(),
            _ => manifest.with_extension("").to_string_lossy().into_owned(),
        };
        let beside = |name: &str| {
            let path = here.join(name);
            folder.join(&path).is_file().then(|| url_of(&path))
        };
        let stem = manifest.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        let first = |names: &[String]| names.iter().find_map(|n| beside(n));
        let named = presentation.chunk_table.clone();
        let table = match &named {
            Some(reference) => {
                let path = url::resolve(&url_of(manifest), reference);
                name_of(&path).filter(|_| !url::is_absolute(&path))
            }
            None => [format!("{stem}.{CHUNK_TABLE}"), CHUNK_TABLE.to_owned()]
                .into_iter()
                .map(|n| here.join(n))
                .find(|p| folder.join(p).is_file()),
        };
        let mut complaint = None;
        let mut label = name.clone();
        let video = match &table {
            None => {
                let why = named.map_or(format!("no {CHUNK_TABLE} beside it"), |n| {
                    format!("the table {n} is not in this folder")
                });
                complaint =
                    Some(format!("{}: {why}; its viewers get a plain share", file.display()));
                None
            }
            Some(path) => match read_table(&folder.join(path), &name, &presentation) {
                Ok(video) => {
                    label.clone_from(&video.title);
                    Some(Arc::new(video))
                }
                Err(e) => {
                    complaint = Some(format!("{e}; its viewers get a plain share"));
                    None
                }
            },
        };
        let title = Self {
            name: name.into(),
            label,
            manifest: url_of(manifest),
            hls: first(&[format!("{stem}.m3u8"), "master.m3u8".into(), "index.m3u8".into()]),
            poster: first(&[format!("{stem}.jpg"), "poster.jpg".into(), "poster.png".into()]),
            table: table.as_deref().filter(|_| video.is_some()).map(url_of),
            presentation: Arc::new(presentation),
            others,
            video,
        };
        Ok((title, complaint))
    }
}

/// Reads the manifest of a title, with its addresses in this folder where it gives several. Returns
/// it with one ladder, and the other encodings.
fn read_title(
    folder: &Path,
    manifest: &Path,
) -> Result<(Presentation, Vec<Representation>), InputError> {
    let file = folder.join(manifest);
    let about = fs::metadata(&file).map_err(|e| InputError::io(&file, "read", &e))?;
    if about.len() > dash::MAX_BYTES as u64 {
        let found = format!("a manifest of {} bytes", about.len());
        return Err(
            InputError::new(found, format!("expected at most {}", dash::MAX_BYTES)).at_file(&file)
        );
    }
    let bytes = fs::read(&file).map_err(|e| InputError::io(&file, "read", &e))?;
    let at_file = |e: InputError| e.at_file(&file);
    let text = dash::decode(&bytes).map_err(at_file)?;
    let mut first = dash::parse(&text).map_err(at_file)?;
    let is_here = |p: &Presentation| {
        let object =
            p.video.first().and_then(|r| r.chunks.first().map(|c| &c.object).or(r.index.as_ref()));
        object.and_then(|o| local(folder, manifest, &o.url)).is_some_and(|path| path.is_file())
    };
    for number in 1..first.alternatives {
        if is_here(&first) {
            break;
        }
        let other = dash::parse_alternative(&text, number).map_err(at_file)?;
        if is_here(&other) {
            first = other;
        }
    }
    let mut presentation = first;
    if presentation.video.is_empty() {
        return Err(at_file(InputError::new("no video", "expected a video adaptation set")));
    }
    let mut others = Vec::new();
    for kind in [Kind::Video, Kind::Audio] {
        others.extend(presentation.choose(kind));
    }
    for of in presentation.video.iter_mut().chain(&mut presentation.audio) {
        index(of, folder, manifest).map_err(at_file)?;
    }
    for kind in [Kind::Video, Kind::Audio] {
        others.extend(presentation.align(kind));
    }
    Ok((presentation, others))
}

/// The file within the folder that a URL in a manifest means.
fn local(folder: &Path, manifest: &Path, reference: &str) -> Option<PathBuf> {
    let path = url::resolve(&url_of(manifest), reference);
    let name = name_of(&path).filter(|_| !url::is_absolute(&path))?;
    Some(folder.join(name))
}

/// Reads the index of a representation whose chunks are listed in its file.
fn index(of: &mut Representation, folder: &Path, manifest: &Path) -> Result<(), InputError> {
    if of.is_whole_file && of.webm().is_none() {
        let file = of.chunks.first().and_then(|c| local(folder, manifest, &c.object.url));
        if let Some(range) = file.and_then(|file| index_in(&file)) {
            of.found_index(range);
        }
    }
    let Some(index) = of.index.clone().filter(|_| of.chunks.is_empty()) else { return Ok(()) };
    let Some(file) = local(folder, manifest, &index.url) else { return Ok(()) };
    if of.webm().is_some() {
        return of.fill(&[]);
    }
    let range = index.range.unwrap_or(ByteRange { offset: 0, length: u64::MAX });
    let bytes = part_of(&file, range.offset, range.length.min(MAX_INDEX_BYTES))
        .map_err(|e| InputError::io(&file, "read", &e))?;
    of.fill(&bytes)
}

/// Range of the index in a file whose manifest does not give it.
fn index_in(file: &Path) -> Option<ByteRange> {
    let mut offset = 0;
    for _ in 0..MAX_LOOKS {
        let bytes = part_of(file, offset, LOOKED_AT_BYTES).ok()?;
        match find_index(&bytes, offset) {
            IndexSearch::Found(range) => return Some(range),
            IndexSearch::Beyond(next) if next > offset => offset = next,
            IndexSearch::Beyond(_) | IndexSearch::Nothing => return None,
        }
    }
    None
}

/// Some bytes of a file, as many as there are of them.
fn part_of(file: &Path, offset: u64, length: u64) -> std::io::Result<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = fs::File::open(file)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The quality table of a title, if it goes with its manifest.
fn read_table(file: &Path, name: &str, presentation: &Presentation) -> Result<Video, InputError> {
    let bytes = fs::read(file).map_err(|e| InputError::io(file, "read", &e))?;
    let mut video = table::parse(&bytes).map_err(|e| e.at_file(file))?.video;
    let chunks = |of: &Representation| of.chunks.len();
    let (rungs, longest) =
        (presentation.video.len(), presentation.video.iter().map(chunks).max().unwrap_or(0));
    if video.rungs.len() != rungs || presentation.video.iter().any(|r| chunks(r) != longest) {
        let found = format!("a table of {} rungs", video.rungs.len());
        return Err(InputError::new(found, format!("the manifest has {rungs}, alike in chunks"))
            .at_file(file));
    }
    // A table may leave out a last chunk that is shorter than the others.
    if video.chunks() != longest && video.chunks() + 1 != longest {
        let found = format!("a table of {} chunks", video.chunks());
        return Err(InputError::new(found, format!("the manifest has {longest}")).at_file(file));
    }
    if video.title == video.name {
        name.clone_into(&mut video.title);
    }
    name.clone_into(&mut video.name);
    Ok(video)
}

/// The manifests below a folder, by their paths in it. Hidden folders and links out are left alone.
fn collect(
    root: &Path,
    below: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let path = below.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < MAX_DEPTH {
            // A folder that cannot be read does not stop the others.
            let _ = collect(root, &path, depth + 1, found);
        } else if kind.is_file() && path.extension().is_some_and(|e| e == "mpd") {
            found.push(path);
        }
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or_else(|| Path::new(""))
}

/// The path in URLs of a file below the folder (RFC 3986, section 2.3: what is not reserved stands
/// for itself).
fn url_of(path: &Path) -> String {
    let mut url = String::new();
    for part in path.components() {
        url.push('/');
        url.extend(utf8_percent_encode(&part.as_os_str().to_string_lossy(), RESERVED));
    }
    url
}

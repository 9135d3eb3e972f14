"""curl as a peer: HTTP/1.1 and HTTP/2 over TCP and TLS."""

import subprocess
import tempfile
from pathlib import Path

from cases import Answer, Asked
from server import HOST, PATIENCE_S, Server


def ask_all(server: Server, version: str, all_asked: list[Asked], at_once: bool = False):
    """Asks over one connection, of HTTP `version` (`1.1` or `2`), one by one or all at once.

    Returns the answers, and how many connections were made."""
    with tempfile.TemporaryDirectory(prefix="airlane-curl-") as scratch:
        folder = Path(scratch)
        config = "\nnext\n".join(
            _section(server, version, asked, folder, n) for n, asked in enumerate(all_asked)
        )
        whole = ["--silent", "--show-error", "--fail-early"] + ["--parallel"] * at_once
        done = subprocess.run(
            ["curl", "--disable", *whole, "--config", "-"],
            input=config,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        if done.returncode != 0:
            raise AssertionError(f"curl ended with code {done.returncode}: {done.stderr}")
        reports = [line.split() for line in done.stdout.splitlines()]
        spoken = {version for version, _ in reports}
        if spoken != {version}:
            raise AssertionError(f"curl spoke HTTP {spoken}, not {version}")
        answers = [_answer(asked, folder, n) for n, asked in enumerate(all_asked)]
        return answers, sum(int(connects) for _, connects in reports)


def _section(server: Server, version: str, asked: Asked, folder: Path, n: int) -> str:
    """One request in curl's configuration."""
    quoted = lambda text: '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
    options = [
        ("url", f"https://{HOST}:{server.port}{asked.target}"),
        ("cacert", server.certificate),
        # The body of an answer to HEAD: curl writes the head into it, which we have anyway.
        ("output", "/dev/null" if asked.method == "HEAD" else folder / f"{n}.body"),
        ("dump-header", folder / f"{n}.head"),
        ("write-out", r"%{http_version} %{num_connects}" + "\n"),
        *[("header", f"{name}: {value}") for name, value in asked.fields.items()],
    ]
    flags = ["http1.1" if version == "1.1" else "http2"] + ["head"] * (asked.method == "HEAD")
    return "\n".join([f"{name} = {quoted(value)}" for name, value in options] + flags)


def _answer(asked: Asked, folder: Path, n: int) -> Answer:
    head, *lines = (folder / f"{n}.head").read_text().strip().splitlines()
    fields = dict(line.split(": ", 1) for line in lines)
    body = folder / f"{n}.body"
    return Answer(
        status=int(head.split()[1]),
        fields={name.lower(): value for name, value in fields.items()},
        # curl makes no file where no byte comes.
        body=body.read_bytes() if body.exists() else b"",
    )

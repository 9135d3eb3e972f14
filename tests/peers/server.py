"""The server under test, on a folder of chunks that it must hand out unchanged."""

import os
import random
import re
import subprocess
import tempfile
import threading
from pathlib import Path

PROGRAM = os.environ["AIRLANE_BIN"]
#: How long the server may take until it serves, and until it has stopped, seconds.
PATIENCE_S = 60
#: The certificate is for this address too.
HOST = "127.0.0.1"

_random = random.Random(2019)
#: The files by their paths.
CHUNKS = {
    "empty.m4s": b"",
    "one byte.m4s": b"\x00",
    "film/v3/64k.m4s": _random.randbytes(64 << 10),
    "film/v3/odd.m4s": _random.randbytes((64 << 10) + 1),
    "film/v3/5M.m4s": _random.randbytes(5_000_000),
    "Übergröße 2/naïve – 映画 100%+#?&.m4s": _random.randbytes(70_001),
}
#: One that takes more than one flow-control window, so that things can happen while it is sent.
LARGE = "film/v3/5M.m4s"


class Server:
    """`airlane serve` on a free port, until it is told to stop."""

    def __init__(self, *options: str, drain_s: int = 5):
        self._scratch = tempfile.TemporaryDirectory(prefix="airlane-peers-")
        scratch = Path(self._scratch.name)
        for name, data in CHUNKS.items():
            file = scratch / "served" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        self.certificate = scratch / "data" / "airlane" / "development.pem"
        self._log = scratch / "log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "serve", scratch / "served", "--listen", f"{HOST}:0", "--drain", str(drain_s), *options],
                env={**os.environ, "XDG_DATA_HOME": str(scratch / "data")},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        watchdog = threading.Timer(PATIENCE_S, self._process.kill)
        watchdog.start()
        said = self._process.stdout.readline()
        watchdog.cancel()
        ready = re.match(r"ready: https://127\.0\.0\.1:(\d+)/ ", said)
        if not ready:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"the server is not ready: {said!r}\n{self._log.read_text()}")
        self.port = int(ready[1])

    def stop(self):
        """Asks it to stop; it must have done so in good order."""
        self._process.terminate()
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._process.stdout.close()
        log = self._log.read_text()
        self._scratch.cleanup()
        if code != 0 or "panic" in log or "fault of Airlane" in log:
            raise AssertionError(f"the server ended with code {code}\n{log}")

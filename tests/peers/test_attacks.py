"""Scripts of tests/attacks against the daemons, over loopback.

Each script judges what it sees, and prints it; its exit code is the verdict. Run by hand: h3cli.py and
halfopen2.py, which take a quiet machine; abr.py, whose bound is of a release build; fuzz.py, whose ports
are fixed.
"""

import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

AIRLANE = os.environ["AIRLANE_BIN"]
ATTACKS = Path(__file__).resolve().parents[1] / "attacks"
#: What is waited for at most, seconds.
EVENT_TIMEOUT_S = 120
#: Seconds that an honest client may wait beside an attack. At one, which is promised, a machine that is
#: busy with other tests would fail; before, it waited for 15 and more, or for ever.
MAX_WAIT_S = "10"
#: The machine's own address for targets that rules name.
HOST = "127.0.0.1"


def free_port() -> int:
    """A port that was free just now, for TCP and UDP."""
    with socket.socket() as tcp:
        tcp.bind((HOST, 0))
        return tcp.getsockname()[1]


def is_listening(port: int) -> bool:
    """Whether somebody listens there: a connection would take a place of a queue that is to be full."""
    local = f"{port:04X} 00000000:0000 0A"
    return any(local in line for line in Path("/proc/net/tcp").read_text().splitlines())


class Attacks(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="airlane-attacks-")))
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"),
                            "AIRLANE": AIRLANE, "AIRLANE_ATTACK_MAX_S": MAX_WAIT_S}

    def daemon(self, *words: str, descriptors: int | None = None) -> tuple[int, int]:
        """Starts a daemon until the test ends; its process and the port of its ready line."""
        log = self.folder / f"log-{words[0]}"

        def limit() -> None:
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        with open(log, "wb") as err:
            started = subprocess.Popen([AIRLANE, *words], stdout=subprocess.PIPE, stderr=err, text=True,
                                       env=self.environment, preexec_fn=limit)
        self.addCleanup(self.ended, started, log)
        ready = started.stdout.readline()
        port = re.search(r":(\d+)(?:/|\s|$)", ready)
        self.assertIsNotNone(port, f"{ready!r} {log.read_text()}")
        return started.pid, int(port[1])

    def ended(self, daemon: subprocess.Popen, log: Path) -> None:
        """It lives until it is told to stop, and says of no fault of its own."""
        self.assertIsNone(daemon.poll(), log.read_text())
        daemon.terminate()
        try:
            daemon.wait(EVENT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
            self.fail(f"it does not stop: {log.read_text()}")
        finally:
            daemon.stdout.close()
        self.assertNotRegex(log.read_text(), "panic|fault of Airlane")

    def attack(self, name: str, *words: object) -> None:
        """Runs a script: what it did not allow fails the test, with what it printed."""
        done = subprocess.run([sys.executable, ATTACKS / name, *map(str, words)], text=True,
                              env=self.environment, timeout=EVENT_TIMEOUT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(f"{name}: {done.stdout.strip()}", file=sys.stderr)
        self.assertEqual(done.returncode, 0, done.stdout)

    def tunnel(self, *words: str, descriptors: int | None = None) -> tuple[str, int, int]:
        """Key, process and port of a tunnel's serving end."""
        key = str(self.folder / "key")
        subprocess.run([AIRLANE, "tunnel", "key", key], check=True, capture_output=True)
        process, port = self.daemon("tunnel", "serve", "--key", key, "--listen", f"{HOST}:0", *words,
                                    descriptors=descriptors)
        return key, process, port

    def send(self) -> int:
        return self.daemon("send", "plaza", "--listen", f"{HOST}:0")[1]

    def sink(self, *queue: str) -> int:
        """The port of a target that says nothing."""
        port = free_port()
        sink = subprocess.Popen([sys.executable, ATTACKS / "sink.py", str(port), "600", *queue],
                                stdout=subprocess.DEVNULL)
        self.addCleanup(sink.wait)
        self.addCleanup(sink.kill)
        end = time.monotonic() + EVENT_TIMEOUT_S
        while not is_listening(port) and time.monotonic() < end:
            time.sleep(0.05)
        return port

    def test_video_is_not_turned_on_others(self):
        port = self.send()
        for mode in ("truthful", "blind"):
            with self.subTest(mode):
                self.attack("reflect.py", port, 6, mode)

    def test_an_initial_is_answered_with_three_times_as_much(self):
        served = self.folder / "served"
        served.mkdir()
        for port, alpn in [(self.daemon("serve", str(served), "--listen", f"{HOST}:0", "--admin", "none")[1], "h3"),
                           (self.send(), "airlane-live")]:
            with self.subTest(alpn):
                self.attack("ampl.py", port, alpn, 3)

    def test_silent_viewers_keep_nobody_out(self):
        self.attack("idle.py", self.send(), 31, 5)

    def test_tables_of_windows_count_as_memory(self):
        target = f"{HOST}:{self.sink()}"
        key, process, port = self.tunnel("--allow", target)
        self.attack("tables.py", key, port, process, 8, target)

    def test_answers_that_nobody_reads_take_no_memory(self):
        key, process, port = self.tunnel()
        self.attack("resets.py", key, port, process, 40)

    def test_connections_that_are_given_up_leave_descriptors(self):
        target = f"{HOST}:{self.sink('0')}"
        key, process, port = self.tunnel("--allow", target, descriptors=1024)
        self.attack("fds.py", key, port, process, 3000, target)

    def test_a_recorded_first_packet_gets_silence(self):
        key = str(self.folder / "key")
        subprocess.run([AIRLANE, "tunnel", "key", key], check=True, capture_output=True)
        self.attack("replay.py", key, free_port())

    def test_random_frames_break_nothing(self):
        key, _, port = self.tunnel()
        self.attack("tfuzz.py", key, port, 5)


if __name__ == "__main__":
    unittest.main()

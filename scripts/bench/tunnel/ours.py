"""`airlane tunnel` between two ends."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from programs import Running, run

#: The port that the server listens on.
PORT = 7000


@dataclass(frozen=True)
class Forward:
    """A port of the client's that leads to one of the server's."""

    local: int
    target: str


class Tunnel:
    """Both ends, running; leaving the context stops them."""

    def __init__(self, airlane: Path, folder: Path, over: str, server: str, paths: list[str],
                 forwards: list[Forward], in_server: list[str], in_client: list[str],
                 port: int = PORT):
        self.airlane, self.over = airlane, over
        self._key = folder / f"tunnel-{over}.key"
        self._stack = ExitStack()
        hosts = sorted({f.target for f in forwards})
        self._serve = [
            *in_server, airlane, "tunnel", "serve", "--listen", f"{server}:{port}", "--key", self._key,
            *[word for host in hosts for word in ("--allow", host)],
        ]
        self._connect = [
            *in_client, airlane, "tunnel", "connect", f"{server}:{port}", "--key", self._key,
            *(["--over", over] if len(overs(airlane)) > 1 else []),
            *[word for path in paths for word in ("--path", path)],
            *[word for f in forwards for word in ("--forward", f"127.0.0.1:{f.local}={f.target}")],
        ]
        self.ends: list[Running] = []

    def __enter__(self) -> "Tunnel":
        self._key.unlink(missing_ok=True)
        run(self.airlane, "tunnel", "key", self._key)
        try:
            for command in (self._serve, self._connect):
                end = Running(*command, ready="ready", timeout_s=15)
                self.ends.append(self._stack.enter_context(end))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def cpu_s(self) -> float:
        """Processor time that both ends have used so far."""
        return sum(end.cpu_s() for end in self.ends)


def overs(airlane: Path) -> list[str]:
    """The transports that this airlane's tunnel has: none if it was built without it."""
    told = run(airlane, "tunnel", "connect", "--help", check=False)
    if "--forward" not in told:
        return []
    # Earlier ones, which `make against` measures too, know it by its name of before alone.
    return ["tcp", "quic"] if "--transport" in told or "--over" in told else ["tcp"]

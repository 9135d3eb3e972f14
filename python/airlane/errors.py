"""Exceptions of the laboratory."""

from __future__ import annotations

from typing import Any


class AirlaneError(Exception):
    """Base class of the exceptions of this package."""


class InputError(AirlaneError, ValueError):
    """Invalid input. The message is that of the command line.

    Attributes:
        file: The file that is wrong, if one is.
        line: Its line, from 1.
        key: The key, column or option, such as ``"link.rate_bps"``.
        found: The input that was found.
        expected: The input that was expected, or what to do.
    """

    def __init__(
        self,
        *,
        message: str,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        found: str = "",
        expected: str = "",
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        # The message says too that it was a change.
        self.key = key.removeprefix("--set ") if key else None
        self.found = found
        self.expected = expected

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in ("file", "line", "key", "found", "expected")}
        return _again, (type(self), {"message": str(self), **values})

    @classmethod
    def of(cls, found: str, expected: str, key: str | None = None) -> InputError:
        """Return the error with the message that the command line would print."""
        place = f"{key}: " if key else ""
        return cls(message=f"{place}{found}; {expected}", key=key, found=found, expected=expected)


class ClusterError(AirlaneError, ConnectionError):
    """A cluster cannot be used."""


class Fault(AirlaneError, RuntimeError):
    """A fault of Airlane, or of a scheme in Python.

    Attributes:
        run: Scenario, scheme, case and seed of the run in which it showed, if it was one.
        command: The command that repeats this run.
    """

    def __init__(self, *, message: str, run: str | None = None, command: str | None = None) -> None:
        super().__init__(message if run is None else f"{message}, in {run}")
        self.run = run
        self.command = command
        self._message = message

    def __reduce__(self) -> tuple[Any, ...]:
        values = {"message": self._message, "run": self.run, "command": self.command}
        return _again, (type(self), values)


class SchemeError(Fault):
    """A fault in a scheme that is written in Python.

    Its message names the class, the method, the line and the virtual time. The exception that was
    raised is its ``__cause__``.
    """


def _again(kind: type[AirlaneError], values: dict[str, Any]) -> AirlaneError:
    return kind(**values)

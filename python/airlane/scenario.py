"""Scenarios: who shares which network, under which schemes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa

from . import _airlane, _toml
from .errors import InputError
from .schemes import Classes, Scheme, checked, found_in


class Source(TypedDict):
    """A scenario as the extension module takes it."""

    text: str | None
    name: str
    set: list[str]
    schemes: Classes


class Scenario:
    """A scenario: network, schemes, participants, seeds.

    Built in code, from TOML text, from a file, or by the name of a built-in one. It is checked when
    it is made; :class:`airlane.InputError` names the key that is wrong. Objects do not change:
    methods return new ones.

    Args:
        tables: Keys and tables as ``docs/reference/scenarios.md`` has them.
        **more: More of them. Units are in the names of keys: ``rate_bps`` is in bits/s, ``rtt_s``
            in seconds.

    Example:
        >>> import airlane
        >>> airlane.Scenario(
        ...     name="two-flows",
        ...     duration_s=20,
        ...     link={"rate_bps": 10e6, "rtt_s": 0.04},
        ...     scheme=[{"name": "cubic"}, {"name": "bbr", "controller": "bbr"}],
        ...     bulk=[{"count": 2}],
        ... )
        Scenario('two-flows', schemes=['cubic', 'bbr'])
    """

    __slots__ = ("_classes", "_name", "_schemes", "_set", "_text", "_title", "_where")

    def __init__(self, tables: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        whole = {**(tables or {}), **more}
        where = f"{whole.get('name', 'scenario')}.toml"
        self._make(_toml.document(whole), where, (), found_in(whole))

    def _make(
        self,
        text: str | None,
        where: str,
        changes: Iterable[str],
        classes: Iterable[type[Scheme]],
    ) -> None:
        self._text = text
        self._where = where
        self._set = tuple(changes)
        self._classes = tuple(dict.fromkeys(classes))
        self._name, self._title, self._schemes = _airlane.check(self._source())

    @classmethod
    def _of(
        cls,
        text: str | None,
        where: str,
        changes: Iterable[str] = (),
        classes: Iterable[type[Scheme]] = (),
    ) -> Scenario:
        made = cls.__new__(cls)
        made._make(text, where, changes, classes)
        return made

    @classmethod
    def from_toml(
        cls, text: str, name: str = "scenario.toml", schemes: Iterable[type[Scheme]] = ()
    ) -> Scenario:
        """Return the scenario that a TOML text has.

        Args:
            text: The text.
            name: Name of the file in messages. Paths in the text are relative to its folder.
            schemes: Classes of schemes whose names the text has.
        """
        return cls._of(text, name, (), schemes)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Scenario:
        """Return the scenario of a TOML file."""
        path = Path(path)
        # A built-in scenario of the same name is not meant.
        if not path.exists():
            raise InputError(
                message=f"{path}: no such file; expected a scenario",
                file=str(path),
                found="no such file",
                expected="expected a scenario",
            )
        return cls._of(None, str(path))

    @classmethod
    def builtin(cls, name: str) -> Scenario:
        """Return a built-in scenario. :func:`airlane.scenarios` has their names."""
        text = _airlane.text_of(name)
        if text is None:
            raise InputError.of(f'no scenario "{name}"', f"expected one of {', '.join(scenarios())}")
        return cls._of(None, name)

    @classmethod
    def of(cls, source: ScenarioLike) -> Scenario:
        """Return the scenario that this is: one, a name, a path or a mapping of its keys."""
        if isinstance(source, Scenario):
            return source
        if isinstance(source, Mapping):
            return cls(source)
        return cls._of(None, os.fspath(source))

    def set(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Scenario:
        """Return the scenario with some keys changed.

        Args:
            changes: Values by key, such as ``{"link.rate_bps": 6e6}``.
            **more: Values of keys without a dot, such as ``duration_s=60``.
        """
        whole = {**(changes or {}), **more}
        new = [f"{key}={_toml.value(item, key)}" for key, item in whole.items()]
        classes = (*self._classes, *found_in(whole))
        return self._of(self._text, self._where, (*self._set, *new), classes)

    @property
    def name(self) -> str:
        """Name in results."""
        return self._name

    @property
    def title(self) -> str:
        """Title in reports."""
        return self._title

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes, in order."""
        return list(self._schemes)

    @property
    def toml(self) -> str:
        """The text, without the changes of :meth:`set`."""
        if self._text is not None:
            return self._text
        known = None if Path(self._where).exists() else _airlane.text_of(self._where)
        return known if known is not None else Path(self._where).read_text("utf-8")

    def as_text(self) -> Scenario:
        """Return the scenario with its text in it, for where its file is not."""
        return self._of(self.toml, self._where, self._set, self._classes)

    @property
    def changes(self) -> tuple[str, ...]:
        """Changes of :meth:`set`, each as ``key=value``."""
        return self._set

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text into a file, for ``airlane run``.

        Changes of :meth:`set` are no part of it: they follow as ``--set`` options, which
        :attr:`command` has.
        """
        Path(path).write_text(self.toml, "utf-8")

    @property
    def command(self) -> list[str]:
        """Words of the command ``airlane run`` that does the same."""
        options = [word for change in self._set for word in ("--set", change)]
        return ["airlane", "run", self._where, *options]

    @property
    def has_classes(self) -> bool:
        """True if it names schemes that are classes of Python."""
        return bool(self._classes)

    def _source(self) -> Source:
        schemes = checked(self._classes)
        return {
            "text": self._text,
            "name": self._where,
            "set": list(self._set),
            "schemes": schemes,
        }

    def __repr__(self) -> str:
        return f"Scenario({self._name!r}, schemes={self._schemes!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._source() == other._source()

    def __hash__(self) -> int:
        return hash((self._text, self._where, self._set, self._classes))

    def __reduce__(self) -> tuple[Any, ...]:
        return Scenario._of, (self._text, self._where, self._set, self._classes)


#: What functions take as a scenario: one, the name of a built-in one, a path, or its keys.
ScenarioLike = Scenario | str | os.PathLike[str] | Mapping[str, Any]


def scenarios() -> list[str]:
    """Return the names of the built-in scenarios."""
    return _airlane.embedded()


def keys() -> pa.Table:
    """Return all keys of scenarios: columns ``key``, ``value``, ``default`` and ``meaning``."""
    return pa.table(_airlane.keys())

"""Values of Python as TOML text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from os import PathLike
from typing import Any

from .errors import InputError
from .schemes import Scheme

class Words(str):
    """Value as the command line has it: TOML, or a plain word."""

    __slots__ = ()


_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def value(item: Any, key: str = "") -> str:
    """Return a value as TOML: numbers, texts, flags, lists, arrays and mappings."""
    # Scalars and arrays of numpy and pandas.
    if not isinstance(item, (str, bytes, Mapping, type)) and hasattr(item, "tolist"):
        item = item.tolist()
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        if math.isnan(item):
            return "nan"
        if math.isinf(item):
            return "inf" if item > 0 else "-inf"
        return repr(item)
    if isinstance(item, Words):
        return str(item)
    if isinstance(item, type) and issubclass(item, Scheme):
        return value(item.name)
    if isinstance(item, (str, PathLike)):
        return json.dumps(str(item), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, Mapping):
        pairs = (f"{name(k)} = {value(v, f'{key}.{k}')}" for k, v in item.items())
        return "{ " + ", ".join(pairs) + " }" if item else "{}"
    if isinstance(item, (list, tuple, range, set, frozenset)):
        items = sorted(item) if isinstance(item, (set, frozenset)) else item
        return "[" + ", ".join(value(one, key) for one in items) + "]"
    raise InputError.of(
        f"a value of type {type(item).__name__}",
        "expected a number, a text, a flag, a list or a mapping",
        key or None,
    )


def name(key: Any) -> str:
    """Return a key as TOML."""
    key = str(key)
    return key if _BARE.match(key) else json.dumps(key, ensure_ascii=False)


def document(tables: Mapping[str, Any]) -> str:
    """Return a document of these keys: scalars first, then tables."""
    lines: list[str] = []
    blocks: list[str] = []
    for key, item in tables.items():
        if isinstance(item, Mapping):
            blocks.append(f"\n[{name(key)}]\n" + _body(item, str(key)))
        elif isinstance(item, (list, tuple)) and item and all(isinstance(i, Mapping) for i in item):
            blocks.extend(f"\n[[{name(key)}]]\n" + _body(one, str(key)) for one in item)
        else:
            lines.append(f"{name(key)} = {value(item, str(key))}\n")
    return "".join(lines) + "".join(blocks)


def _body(table: Mapping[str, Any], key: str) -> str:
    return "".join(f"{name(k)} = {value(v, f'{key}.{k}')}\n" for k, v in table.items())

"""Scenarios as TOML, from Python values."""

from __future__ import annotations

import json
import math
import numbers
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def value(given: Any, place: str) -> str:
    """Return ``given`` as a TOML value on one line. ``place`` names it in errors."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, str):
        return _string(given)
    if isinstance(given, os.PathLike):
        return _string(os.fspath(given))
    if isinstance(given, numbers.Integral):
        return str(int(given))
    if isinstance(given, numbers.Real):
        return _float(float(given))
    if isinstance(given, Mapping):
        parts = (f"{key(k)} = {value(v, f'{place}.{k}')}" for k, v in given.items())
        return "{ " + ", ".join(parts) + " }" if given else "{}"
    if isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray)):
        return "[" + ", ".join(value(item, place) for item in given) + "]"
    raise TypeError(
        f"`{place}` is of type {type(given).__name__}; "
        "allowed: str, bool, int, float, list or dict of these"
    )


def document(tables: Mapping[str, Any]) -> str:
    """Return ``tables`` as a TOML document, with a section for each table."""
    lines: list[str] = []
    _section(tables, "", lines)
    return "\n".join(lines) + "\n"


def key(name: object) -> str:
    """Return ``name`` as one part of a dotted key."""
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is not a key; allowed: str")
    return name if _BARE.fullmatch(name) else _string(name)


def _section(table: Mapping[str, Any], prefix: str, lines: list[str]) -> None:
    """Append the values of ``table``, then its tables and lists of tables as sections."""
    below = {k: v for k, v in table.items() if _is_table(v) or _is_tables(v)}
    for name, given in table.items():
        if name not in below:
            lines.append(f"{key(name)} = {value(given, f'{prefix}{name}')}")
    for name, given in below.items():
        path = prefix + key(name)
        for one, (left, right) in (
            [(given, ("[", "]"))] if _is_table(given) else [(one, ("[[", "]]")) for one in given]
        ):
            lines.append(f"\n{left}{path}{right}")
            # Sections of sections are written inline: short, and each on a line of its own.
            for k, v in one.items():
                lines.append(f"{key(k)} = {value(v, f'{path}.{k}')}")


def _is_table(given: Any) -> bool:
    return isinstance(given, Mapping)


def _is_tables(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(map(_is_table, given))


def _string(text: str) -> str:
    # JSON escapes are TOML escapes, except for DEL, which TOML must escape and JSON does not.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _float(number: float) -> str:
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return "nan" if math.isnan(number) else repr(number)

"""Built-in paths, algorithms, constellations and cities."""

from __future__ import annotations

import json
from typing import Any

from . import _bentpipe


def profiles() -> list[dict[str, Any]]:
    """Return the built-in paths, as ``bentpipe profiles --json`` prints them."""
    return _list(_bentpipe.profiles())


def controllers() -> list[dict[str, Any]]:
    """Return congestion controllers, slow-start algorithms and resumption with their parameters.

    ``kind`` is the key that selects an entry: ``controller``, ``slow_start`` or ``resume``.
    """
    return _list(_bentpipe.controllers())


def constellations() -> list[dict[str, Any]]:
    """Return the built-in constellations."""
    return _list(_bentpipe.constellations())


def cities(part: str = "") -> list[dict[str, Any]]:
    """Return the built-in cities whose name contains ``part``."""
    return _list(_bentpipe.cities(part))


def _list(text: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(text)
    return entries

"""The pages the collector serves, with the fingerprint of every file they load."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"

_INCLUDED = re.compile(r"<!-- (\w+\.html) -->")
_LOADED = re.compile(r'(?:src|href)="static/([\w.-]+)"')


def page(name: str) -> str:
    """An HTML page whose scripts and stylesheets carry their fingerprints (Subresource Integrity).

    A browser runs none of them that a proxy or a cache has changed. What pages share is in a file that they name.
    """
    html = _INCLUDED.sub(lambda found: _text(found[1]), _text(name))
    return _LOADED.sub(lambda found: f'{found[0]} integrity="{fingerprint(found[1])}"', html)


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def fingerprint(name: str) -> str:
    """The SHA-384 of a file, as browsers write it."""
    digest = hashlib.sha384((STATIC / name).read_bytes()).digest()
    return f"sha384-{base64.b64encode(digest).decode()}"


def fingerprints() -> dict[str, str]:
    """The fingerprint of every script, to be compared with those of another copy of the same version."""
    return {path.name: fingerprint(path.name) for path in sorted(STATIC.glob("*.js"))}

"""The survey owner's token: a file only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from kakuran.collect.ids import new_secret
from kakuran.errors import CollectError


def load_token(path: Path) -> str:
    """The token in a file, which is made if it is not there."""
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as made:
            made.write(new_secret() + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise CollectError(f"{path}: the token could not be written: {error.strerror}") from error
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CollectError(f"{path}: not a token that can be read: {error}") from error
    if len(token) < 16:
        raise CollectError(f"{path}: a token has at least 16 characters")
    return token

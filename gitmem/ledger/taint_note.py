"""The note of what of shared memory holds a secret, as whoever shows memory reads it.

`taint` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from gitmem.core.errors import MissingObject
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

NOTE = "tainted.json"

WHOLE = "whole"
"""Stands for all of a blob: one too large to be judged claim by claim."""


@dataclass(frozen=True)
class Tainted:
    """What is known of some contents.

    Attributes:
        screened: ref to the commit up to which it was looked at.
        blobs: name of a blob to the texts in it that hold a secret: hash of the text to fingerprints.
    """

    screened: Mapping[str, str] = field(default_factory=dict)
    blobs: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def hides(self, blob: str, allow: frozenset[str]) -> frozenset[str]:
        """Hashes of the texts of a blob that are not shown.

        Args:
            allow: fingerprints that the person accepted meanwhile.
        """
        texts = self.blobs.get(blob, {})
        return frozenset(text for text, prints in texts.items() if not prints or set(prints) - allow)

    def shown(self, path: str, data: bytes, hex_length: int, allow: frozenset[str]) -> bytes | None:
        """Content without what is hidden of it; None where nothing of it may be shown.

        Args:
            hex_length: length of the repository's object names.
        """
        if not self.blobs:
            return data
        from gitmem.git.objects import object_name  # what holds no secret needs no name, and no parser

        hidden = self.hides(object_name("blob", data, hex_length), allow)
        if not hidden or WHOLE in hidden:
            return None if hidden else data
        from gitmem.rules.screen import texts_of, without_texts

        return without_texts(
            path, data, [text for text in texts_of(path, data) if text_hash(text) in hidden]
        )


def read_tainted(state: Path) -> Tainted:
    """Reads the note of a repository's scopes; an empty one where none can be read."""
    with suppress(OSError, ValueError, AttributeError, TypeError):
        value: dict[str, Any] = json.loads((state / NOTE).read_bytes())
        blobs = {
            str(blob): {str(text): tuple(map(str, prints)) for text, prints in texts.items()}
            for blob, texts in value["blobs"].items()
        }
        return Tainted({str(ref): str(oid) for ref, oid in value["screened"].items()}, blobs)
    return Tainted()


def text_hash(text: str) -> str:
    """How the note names a text."""
    import hashlib  # most memory holds no secret

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def without_secrets(workspace: Workspace, path: str, data: bytes) -> bytes:
    """Project memory as it may be shown: claims that are known to hold a secret are left out.

    Raises:
        MissingObject: nothing of it may be shown.
    """
    scope = workspace.scope("project")
    tainted = read_tainted(scope.state)
    if not tainted.blobs:
        return data
    kept = tainted.shown(path, data, scope.repo.hex_length, workspace.allowed)
    if kept is None:
        raise MissingObject(f"{path} holds a secret and is not shown")
    return kept

"""What of shared memory holds a secret: noted by who writes, so that who reads needs no detector.

Own writes are screened before they are stored. What others pushed is in the ref all the same, whether
`sync` brought it or git's own fetch and merge, and stays there: taking it out would change the team's
memory, and it would be in history still. It is hidden instead. The note is keyed by content, holds no text,
and can be deleted at no loss: the next writer makes it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import MissingObject
from gitmem.ledger.files import write_atomically
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.rules.rule import Finding

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


def note_tainted(scope: Scope, allow: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """Looks at what a ref got since it was last looked at, and notes what of it holds a secret.

    Args:
        scope: shared memory; where it was never looked at, all of it is.
        allow: fingerprints that the person accepted: they are noted, but not told.

    Returns:
        What is hidden from now on.

    Raises:
        DetectorUnavailable: nothing can be said; the next writer looks again.
    """
    repo, known = scope.repo, read_tainted(scope.state)
    tip = repo.ref(scope.ref)
    before = known.screened.get(scope.ref)
    if tip is None or tip == before:
        return ()
    from gitmem.core.text import decode
    from gitmem.git.objects import object_name
    from gitmem.git.trees import changed_files, read_paths
    from gitmem.rules.screen import refused_claims, screen  # what was looked at before needs no detector

    old, new = _tree(repo, before), _tree(repo, tip)
    paths = changed_files(repo, old, new)
    after = read_paths(repo, new, paths) if new else {}
    # Whole files, not what is new in them: one that changed is another blob, with all its secrets in it.
    found = screen({}, after, frozenset())
    blobs = dict(known.blobs)
    for path, texts in found.bad.items():
        prints = [one.fingerprints for one in found.refusals if one.path == path]
        every = tuple(sorted({each for some in prints for each in some}))
        blobs[object_name("blob", after[path], repo.hex_length)] = {
            text_hash(text): every for text in texts
        }
    secrets = [one for one in found.refusals if one.rule == "secret"]
    for one in found.refusals:
        if one.rule == "size" and (hidden := refused_claims([decode(after[one.path])], path=one.path)):
            secrets.append(hidden[0])
            blobs[object_name("blob", after[one.path], repo.hex_length)] = {WHOLE: hidden[0].fingerprints}
    _write(scope.state, Tainted({**known.screened, scope.ref: tip}, blobs))
    return tuple(one for one in secrets if set(one.fingerprints) - allow)


def _tree(repo: Repository, commit: str | None) -> str | None:
    try:
        return repo.commit(commit).tree if commit else None
    except MissingObject:
        return None


def _write(state: Path, tainted: Tainted) -> None:
    value = {
        "screened": dict(tainted.screened),
        "blobs": {
            blob: {text: list(prints) for text, prints in texts.items()}
            for blob, texts in tainted.blobs.items()
        },
    }
    write_atomically(state / NOTE, (json.dumps(value, sort_keys=True) + "\n").encode())


def safe_content(workspace: Workspace, path: str, data: bytes, commit: str = "") -> bytes:
    """Project memory as agents may be told it: without secrets, and, where that is required, only what is
    proved to be by somebody whom the person trusts.

    Args:
        path: from the root of the tree.
        commit: that has it; empty for where the ref stands.

    Raises:
        MissingObject: nothing of it may be told.
    """
    if workspace.settings.requires_signed:
        from gitmem.core.names import INDEX

        if path.endswith(f"/{INDEX}"):
            return _proved_index(workspace, path.removesuffix(f"/{INDEX}"))
        from gitmem.git.objects import object_name
        from gitmem.ledger.signatures import unproved_paths

        blob = object_name("blob", data, workspace.scope("project").repo.hex_length)
        if unproved_paths(workspace, {path: blob}, commit):
            raise MissingObject(f"{path} is not proved to be by somebody trusted (gitmem.requireSigned)")
    return without_secrets(workspace, path, data)


def _proved_index(workspace: Workspace, agent: str) -> bytes:
    """An agent's index of what is proved alone: a line that somebody wrote there proves nothing."""
    from gitmem.core.index import entry_of
    from gitmem.git.trees import hot_files
    from gitmem.ledger.signatures import unproved_paths

    scope = workspace.scope("project")
    tip = scope.repo.ref(scope.ref)
    files = hot_files(scope.repo, scope.repo.commit(tip).tree, agent) if tip else {}
    blobs = {f"{agent}/{file}": blob for file, blob in files.items()}
    left_out = unproved_paths(workspace, blobs)
    lines = []
    for file, blob in sorted(files.items()):
        if f"{agent}/{file}" not in left_out:
            with suppress(MissingObject):
                data = without_secrets(workspace, f"{agent}/{file}", scope.repo.blob(blob))
                lines.append(entry_of(file, data))
    return "".join(lines).encode("utf-8", "replace")


def holds_secret(workspace: Workspace, path: str, data: bytes) -> bool:
    """Whether something in project memory is known to be a secret."""
    try:
        return without_secrets(workspace, path, data) != data
    except MissingObject:
        return True

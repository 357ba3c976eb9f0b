"""The verdict on a request: every rule over what it changes, as a pure function of two trees."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gitmem.core.limits import MEMORY_BYTES
from gitmem.share.check.contents import judge_content, too_large
from gitmem.share.check.finding import Finding, new_ones
from gitmem.share.check.hidden import judge_hidden
from gitmem.share.check.hosts import judge_hosts
from gitmem.share.check.instructions import judge_instructions
from gitmem.share.check.links import judge_links, judge_names
from gitmem.share.check.logs import judge_logs
from gitmem.share.check.places import judge_collisions, judge_place
from gitmem.share.check.secrets import judge_secrets
from gitmem.share.check.side import EMPTY, Side, Text
from gitmem.share.check.states import judge_state
from gitmem.share.check.stones import judge_stones


def judge(before: Side | None, after: Side, allow: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """Judges what a request changes.

    Args:
        before: what was there; what was already so is not told again. None judges all.
        after: what the request makes of it.
        allow: fingerprints of secrets that a person accepted.

    Returns:
        The findings, sorted by path and line.

    Raises:
        DetectorUnavailable: nothing can be said about secrets.
    """
    past = before or EMPTY
    changed = {path for path, file in after.files.items() if past.files.get(path) != file}
    was = _former(past, after, changed)
    found = chain(
        (Finding(path, 1, "limit", why) for path, why in after.trouble),
        _one_by_one(past, after, changed, was),
        judge_secrets([(text, was.get(path)) for path, text in _read(after, changed)], allow),
        judge_collisions(past, after),
        judge_hosts(before, after),
        judge_links(before, after, changed),
        judge_names(before, after, changed),
        judge_stones(past, after),
        judge_logs(past, after),
        _states(past, after),
    )
    return tuple(sorted(set(found)))


def _one_by_one(past: Side, after: Side, changed: set[str], was: dict[str, Text]) -> Iterator[Finding]:
    for path in sorted(changed):
        file, old = after.files[path], past.files.get(path)
        yield from new_ones(judge_place(after, path, file), judge_place(past, path, old) if old else ())
        if file.data is None and file.size > MEMORY_BYTES and not (old and old.size > MEMORY_BYTES):
            yield too_large(path)
    for path, text in _read(after, changed):
        before = was.get(path)
        yield from new_ones(_text(text), _text(before) if before else ())


def _text(text: Text) -> Iterator[Finding]:
    yield from judge_hidden(text)
    if len(text.data) > MEMORY_BYTES:
        yield too_large(text.path)
        return
    yield from judge_content(text)
    yield from judge_instructions(text)


def _read(side: Side, changed: set[str]) -> Iterator[tuple[str, Text]]:
    """Changed files with text in them, those of hosts too; tombstones are hashes."""
    for path in sorted(changed):
        text = side.texts.get(path)
        if text is None and (file := side.host.get(path)) is not None and file.data is not None:
            text = Text(path, ".host", file.data)
        if text is not None and text.kind != "tombstones":
            yield path, text


def _former(past: Side, after: Side, changed: set[str]) -> dict[str, Text]:
    """What each changed file was before: at its path, else equal content elsewhere (moved, paged out)."""
    places = {file.oid: path for path, file in past.files.items()}
    found = {}
    for path in changed:
        source = path if path in past.files else places.get(after.files[path].oid, "")
        text = past.texts.get(source)
        if text is None and (file := past.host.get(source)) is not None and file.data is not None:
            text = Text(source, ".host", file.data)
        if text is not None:
            found[path] = text
    return found


def _states(past: Side, after: Side) -> Iterator[Finding]:
    for folder in sorted(after.folders) if after.snapshots else ():
        if past.folders.get(folder) != after.folders[folder]:
            yield from new_ones(
                judge_state(after, folder), judge_state(past, folder) if folder in past.folders else ()
            )

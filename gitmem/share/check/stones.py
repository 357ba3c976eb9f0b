"""Rules about tombstones: hashes say nothing to a reviewer, and a merge deletes by them."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.core import tombstone
from gitmem.core.account import claims_at
from gitmem.core.daily_log import line_keys, split
from gitmem.core.text import counted, decode
from gitmem.share.check.finding import Finding, quoted
from gitmem.share.check.side import Side


def judge_stones(before: Side, after: Side) -> Iterator[Finding]:
    """Finds what a request marks as forgotten.

    Who forgets a claim deletes it, too. One that stands on would go with the next merge, in a commit that
    says nothing of it.
    """
    for folder in sorted(after.folders):
        path = f"{folder}/{tombstone.FILE}"
        fresh = [one for one in _stones(after, path) - _stones(before, path) if one.kind == "forgot"]
        if not fresh:
            continue
        texts = counted(len(fresh), "text")
        yield Finding(
            path, 1, "tombstone", f"marks {texts} as forgotten: merges delete what says it", "notice"
        )
        buried = tombstone.finder(fresh, "forgot")
        for text in after.memories(folder):
            for claim in claims_at(text.path, text.data):
                if buried(claim.key):
                    line = 1 + text.text.count("\n", 0, max(0, text.text.find(claim.text)))
                    what = f"is marked as forgotten, so the next merge takes it: {quoted(claim.text)}"
                    yield Finding(text.path, line, "tombstone", what)
        for name in sorted(after.folders[folder]):
            log = after.texts.get(f"{folder}/{name}")
            for number, said in enumerate(split(log.text) if log and log.kind == "log" else (), 1):
                if any(map(buried, line_keys(said))):
                    what = f"is marked as forgotten, so the next merge takes it: {quoted(said)}"
                    yield Finding(f"{folder}/{name}", number, "tombstone", what)


def _stones(side: Side, path: str) -> frozenset[tombstone.Tombstone]:
    text = side.texts.get(path)
    return tombstone.parse(decode(text.data)) if text is not None else frozenset()

"""Daily logs in live directories: lines are added to a log, and none that stands there is changed.

Only a tombstone takes one out (`git mem forget --claim`), and the merge sees to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitmem.core.daily_log import line_keys, lost_lines, merge_lines, split, without_lines
from gitmem.core.names import kind
from gitmem.core.text import counted, decode, encode

FORGOTTEN = "holds what was forgotten; to keep it after all, tell gitmem to remember it"


def keep_lines(base: Mapping[str, bytes], here: dict[str, bytes]) -> dict[str, str]:
    """Puts lines that were changed or removed back into the logs of `here`.

    Args:
        base: file to what stood there at the last save.

    Returns:
        File to what a person should know of it.
    """
    told: dict[str, str] = {}
    for name, data in base.items():
        if kind(name) != "log" or here.get(name) == data:
            continue
        before, now = decode(data), decode(here.get(name, b""))
        lost = lost_lines(before, now)
        if lost:
            here[name] = encode(merge_lines("", before, now)) if now.strip() else data
            told[name] = (
                f"is a log, which is only added to: {counted(len(lost), 'line')} that went or changed "
                "stands there again; to take one out: git mem forget --claim TEXT"
            )
    return told


def without_forgotten(
    base: Mapping[str, bytes], kept: dict[str, bytes], is_buried: Callable[[str], bool]
) -> dict[str, str]:
    """Takes lines out of the logs of `kept` that were forgotten and are written again.

    Returns:
        File to why it is not taken in whole.
    """
    held: dict[str, str] = {}
    for name in [name for name, data in kept.items() if kind(name) == "log" and base.get(name) != data]:
        there, text = set(split(decode(base.get(name, b"")))), decode(kept[name])
        gone = [line for line in split(text) if line not in there and any(map(is_buried, line_keys(line)))]
        if not gone:
            continue
        held[name] = FORGOTTEN
        left = without_lines(text, gone)
        if left.strip() or name in base:
            kept[name] = encode(left)
        else:
            del kept[name]
    return held

"""Rules about daily logs: lines are added, and none that stands there goes unless it was forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.core.daily_log import SOME_DAY, read_line, split, taken_out
from gitmem.core.names import TOMBSTONES
from gitmem.share.check.finding import Finding, quoted
from gitmem.share.check.side import Side, Text


def judge_logs(before: Side, after: Side) -> Iterator[Finding]:
    """Finds lines of logs that a request removes or changes; to archive a log is neither."""
    for folder in sorted(before.folders):
        old = list(_logs(before, folder))
        if not old:
            continue
        now: dict[str, str] = {}
        for text in _logs(after, folder):
            now[_day(text)] = now.get(_day(text), "") + "\n" + text.text
        at = f"{folder}/{TOMBSTONES}"
        stones = after.texts.get(at)
        for text in old:
            for line in taken_out(text.text, now.get(_day(text), ""), stones.text if stones else ""):
                number = 1 + split(text.text).index(line)
                what = f"a log is only added to, and this takes out or changes: {quoted(line)}"
                yield Finding(text.path, number, "log", what)


def judge_lines(text: Text) -> Iterator[Finding]:
    """Finds lines of one log that are not for the team."""
    for number, line in enumerate(split(text.text), 1):
        told = read_line(line, SOME_DAY)
        if told is not None and told.type == "user":
            what = "is about a person (type user), which is never shared with a project"
            yield Finding(text.path, number, "scope", f"{what}: {quoted(told.text)}")


def _logs(side: Side, folder: str) -> Iterator[Text]:
    for name in sorted(side.folders.get(folder, {})):
        text = side.texts.get(f"{folder}/{name}")
        if text is not None and text.kind == "log":
            yield text


def _day(text: Text) -> str:
    return text.name.rpartition("/")[2]

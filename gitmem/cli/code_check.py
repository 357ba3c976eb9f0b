"""`git mem check --code`: which memory a change of the code makes false, for a person, a comment or CI."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from gitmem.cli.run import Context
from gitmem.cli.words import sound
from gitmem.core.text import counted, one_line
from gitmem.flows.code_check import Affected, CodeReport, Untrue, check_code

WIDTH = 400
CLAIMS = 3
"""Claims of one memory that are shown for a name."""


def tell_code(run: Context, change: str, *, comment: bool, github: bool) -> None:
    """Prints what a change makes false; nothing where that is nothing.

    Args:
        change: `BASE..HEAD`.
        comment: as markdown.
        github: as annotations of GitHub Actions.
    """
    # What is printed for others is the project's alone.
    report = check_code(run.any_workspace, change, "project" if comment or github else "")
    if run.out.as_json:
        run.out.json(_value(report))
    else:
        show = _comment if comment else _annotations if github else _lines
        for line in show(report):
            run.out.data(line)
    if not report.whole:
        run.out.warn("not all of the code's history is at hand here: some of it may go unsaid")
    if report.affected:
        raise typer.Exit(1)


def _lines(report: CodeReport) -> Iterator[str]:
    for one in report.affected:
        for untrue in one.untrue:
            yield one_line(f"{_place(one)}: {_said(untrue)}", WIDTH)
            for old, new in untrue.claims[:CLAIMS]:
                yield from (f"   - {line}" for line in sound(old).splitlines())
                yield from (f"   + {line}" for line in sound(new).splitlines())


def _comment(report: CodeReport) -> Iterator[str]:
    if not report.affected:
        return
    what = counted(len(report.affected), "memory")
    yield f"This change makes {what} of the project false:"
    for one in report.affected:
        yield ""
        yield f"**{_code(_place(one))}**"
        for untrue in one.untrue:
            yield f"- {_said(untrue)}"
            for old, new in untrue.claims[:CLAIMS] if untrue.now else ():
                yield ""
                yield "  ```diff"
                yield from (f"  - {line}" for line in _inside(old))
                yield from (f"  + {line}" for line in _inside(new))
                yield "  ```"
    yield ""
    yield "Once it is merged, `git mem dream` proposes the repairs; `git mem forget` takes out the rest."


def _annotations(report: CodeReport) -> Iterator[str]:
    for one in report.affected:
        for untrue in one.untrue:
            message = one_line(f"{_place(one)}: {_said(untrue)}", WIDTH)
            yield f"::warning title=gitmem::{message.replace('%', '%25')}"


def _place(one: Affected) -> str:
    return f"{one.scope}/{sound(one.path)}"


def _said(one: Untrue) -> str:
    if one.now:
        return f"{_code(one.name)} becomes {_code(one.now)}"
    return f"{_code(one.name)} goes"


def _code(name: str) -> str:
    return f"`{one_line(sound(name), WIDTH).replace('`', chr(39))}`"


def _inside(text: str) -> list[str]:
    """Lines of a claim that no fence of it can break out of."""
    return sound(text).replace("```", "'''").splitlines()


def _value(report: CodeReport) -> dict[str, object]:
    return {
        "ok": not report.affected,
        "base": report.base,
        "head": report.head,
        "looked": report.looked,
        "complete": report.whole,
        "memories": [
            {
                "scope": one.scope,
                "path": one.path,
                "name": one.name,
                "names": [
                    {
                        "name": untrue.name,
                        "kind": untrue.kind,
                        "now": untrue.now or None,
                        "claims": [{"before": old, "after": new or None} for old, new in untrue.claims],
                    }
                    for untrue in one.untrue
                ],
            }
            for one in report.affected
        ],
    }

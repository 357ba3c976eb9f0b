"""`git mem check`: judge memory before it is merged, and name what a change of the code makes false."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import Json, Quiet
from gitmem.cli.output import Output, sound
from gitmem.core.errors import UsageError
from gitmem.core.text import counted, one_line
from gitmem.flows.check import CheckReport, CheckRequest
from gitmem.flows.check import check as judge_request
from gitmem.flows.code_check import Affected, CodeReport, Untrue, check_code
from gitmem.flows.request import CheckRepository
from gitmem.rules.rule import Finding

WIDTH = 400
"""Terminal cells of one line."""


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(check)


def check(
    ctx: typer.Context,
    ref: Annotated[
        str, typer.Option("--ref", metavar="REF", help="What to judge; HEAD otherwise.", show_default=False)
    ] = "",
    base: Annotated[
        str,
        typer.Option("--base", metavar="REF", help="What it is to be merged into.", show_default=False),
    ] = "",
    staged: Annotated[
        bool, typer.Option("--staged", help="Judge what is staged, before a commit.")
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="WORD", help="Let pass what a finding gives this word for."),
    ] = None,
    github: Annotated[bool, typer.Option("--github", help="Print annotations for GitHub Actions.")] = False,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write it as a page.", show_default=False),
    ] = None,
    code: Annotated[
        str,
        typer.Option(
            "--code",
            metavar="BASE..HEAD",
            help="Name memory that this change of the code makes false, with a repair.",
            show_default=False,
        ),
    ] = "",
    comment: Annotated[
        bool, typer.Option("--comment", help="With --code: print it as markdown, for a comment.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Judges memory before it is merged: for reviewers, hooks and CI.

    On the memory branch, a dream or an inbox it judges that; on code the snapshots in it. Only what the
    request changes counts. Needs no `init`, and fetches what a shallow checkout lacks.

    With --code it is the other way round: which memory a change of the code makes false. It says nothing
    and exits with 0 where there is none, with 1 where there is.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    out = run.out
    if code:
        if ref or base or staged or allow or page:
            raise UsageError("--code goes with --comment, --github and --json alone")
        tell_code(run, code, comment=comment, github=github)
        return
    if comment:
        raise UsageError("--comment goes with --code BASE..HEAD")
    if staged and (ref or base):
        raise UsageError("--staged takes neither --ref nor --base")
    if github and out.as_json:
        raise UsageError("--github and --json do not go together")
    edges = run.edges
    request = CheckRequest(ref, base, staged, github, int(edges.now), allow=frozenset(allow or ()))
    report = judge_request(edges.environ, edges.cwd, request, prove_dream)
    if page is not None:
        from gitmem.view.static import (
            report_html,  # most checks write none
            write,
        )

        write(edges.path(page), report_html(report))
    if out.as_json:
        out.json(_value(report))
    else:
        for found in report.findings:
            out.data(_annotation(found) if github else _line(out, found))
        out.say(_summary(report))
    if report.note:
        out.warn(report.note)
    if not report.passed:
        raise typer.Exit(1)


def prove_dream(
    ground: CheckRepository, asked: CheckRequest, met: str, base: str, head: str
) -> tuple[Finding, ...]:
    """What a dream cannot prove, as findings; nothing where a request is no dream."""
    from gitmem.dream.proof import is_dream, prove_branch

    if not is_dream(ground.repo, met, head):
        return ()
    found = []
    for failure in prove_branch(ground.repo, base, head, allow=asked.allow):
        # A file in the wrong place is the same in any request.
        rule = "path" if failure.rule == "place" else failure.rule
        what = failure.message + (f" ({failure.commit[:12]})" if failure.commit else "")
        if failure.fingerprints and failure.level == "error":
            what += f": who means it allows {failure.fingerprints[0]}"
        found.append(replace(failure, rule=rule, message=what))
    return tuple(found)


def _line(out: Output, found: Finding) -> str:
    path = one_line(found.path or ".", WIDTH)
    # A log of CI obeys a line that begins with two colons.
    path = f"./{path}" if path.startswith((":", "#")) else path
    rule = out.paint(found.rule, "red") if found.level == "error" else f"{found.rule} (notice)"
    return f"{path}:{found.line}: {rule}: {one_line(found.message, WIDTH)}"


def _annotation(found: Finding) -> str:
    """A workflow command of GitHub Actions; its own escapes keep hostile text inside of it."""
    path, title = _property(one_line(found.path or ".", WIDTH)), _property(f"gitmem: {found.rule}")
    message = _data(one_line(f"{found.rule}: {found.message}", WIDTH))
    return f"::{found.level} file={path},line={found.line},title={title}::{message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _summary(report: CheckReport) -> str:
    errors = sum(found.level == "error" for found in report.findings)
    notices = len(report.findings) - errors
    what = f"{counted(report.files, 'file')} of {report.what}" if report.files else f"no {report.what}"
    since = f" since {report.base[:12]}" if report.base else ""
    return f"{what}{since}: {counted(errors, 'error')}, {counted(notices, 'notice')}"


def _value(report: CheckReport) -> dict[str, object]:
    return {
        "ok": report.passed,
        "what": report.what,
        "commit": report.commit,
        "base": report.base,
        "files": report.files,
        "findings": [
            {
                "rule": found.rule,
                "path": sound(found.path or "."),
                "line": found.line,
                "message": sound(found.message),
                "level": found.level,
            }
            for found in report.findings
        ],
    }


CLAIMS = 3
"""Claims of one memory that are shown for a name."""

COMMENT_MARGIN = 400
"""Of a comment's room, for the mark of who posts it, and for counting what is left out."""


def tell_code(run: CommandContext, change: str, *, comment: bool, github: bool) -> None:
    """Prints what a change makes false; nothing where that is nothing.

    Args:
        change: `BASE..HEAD`.
        comment: as markdown.
        github: as annotations of GitHub Actions.
    """
    # What is printed for others is the project's alone.
    report = check_code(run.any_workspace, change, "project" if comment or github else "")
    if run.out.as_json:
        run.out.json(_code_value(report))
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
    """Markdown that a host takes: where there is no room for repairs memories are named, else counted."""
    from gitmem.flows.pull_request import LIMIT, units

    if not report.affected:
        return
    what = counted(len(report.affected), "memory")
    start = f"This change makes {what} of the project false:"
    end = "\nOnce it is merged, `git mem dream` proposes the repairs; `git mem forget` takes out the rest."
    yield start
    room = LIMIT - COMMENT_MARGIN - units(start) - units(end)
    for number, one in enumerate(report.affected):
        block = next((text for text in (_block(one), _block(one, short=True)) if units(text) < room), None)
        if block is None:
            left = counted(len(report.affected) - number, "more memory")
            yield f"\n… and {left}: `git mem check --code {report.base[:12]}..{report.head[:12]}`"
            break
        room -= units(block) + 1
        yield block
    yield end


def _block(one: Affected, *, short: bool = False) -> str:
    """One memory: what goes of what it names, and its claims as they would be true unless `short`."""
    lines = ["", f"**{_code(_place(one))}**"]
    for untrue in one.untrue:
        lines.append(f"- {_said(untrue)}")
        for old, new in untrue.claims[:CLAIMS] if untrue.now and not short else ():
            lines += ["", "  ```diff", *(f"  - {line}" for line in _inside(old))]
            lines += [*(f"  + {line}" for line in _inside(new)), "  ```"]
    return "\n".join(lines)


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


def _code_value(report: CodeReport) -> dict[str, object]:
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

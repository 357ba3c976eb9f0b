"""The manual, made from the verbs themselves: pages as values, as text for man, and as markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from gitmem.cli.app import GROUPS, SUMMARIES, HelpContext, load_verb, program
from gitmem.cli.context import context
from gitmem.cli.options import DryRun, Quiet
from gitmem.cli.topics import ENVIRONMENT, EXIT_CODES, SETTINGS_TEXT, Rows, settings_rows
from gitmem.core.text import counted


@dataclass(frozen=True)
class ManualPage:
    """What is to be said of a command.

    Attributes:
        name: as typed: `git mem review accept`.
        usage: the words that may follow the name.
        text: paragraphs.
        parts: its own commands.
    """

    name: str
    summary: str
    usage: str
    text: tuple[str, ...]
    arguments: Rows
    options: Rows
    parts: tuple[ManualPage, ...] = ()


def page(verb: str) -> ManualPage:
    """The page of a verb."""
    return _page(load_verb(verb), f"git mem {verb}", SUMMARIES[verb])


def first_page() -> ManualPage:
    """The page of `git mem` itself, without its verbs."""
    return _page(program(), "git mem", "What coding agents learn, kept in git.", deep=False)


def _page(command: Any, name: str, summary: str = "", *, deep: bool = True) -> ManualPage:
    context = HelpContext(command, info_name=name, help_option_names=["-h", "--help"])
    text = tuple(" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n"))
    parts = getattr(command, "commands", {}) if deep else {}
    arguments: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    for param in command.get_params(context):
        record = None if getattr(param, "hidden", False) else param.get_help_record(context)
        if record is not None:
            (arguments if param.param_type_name == "argument" else options).append(record)
    return ManualPage(
        name,
        summary or text[0],
        " ".join(command.collect_usage_pieces(context)),
        text,
        tuple(arguments),
        tuple(options),
        tuple(_page(one, f"{name} {word}") for word, one in parts.items()),
    )


def man_pages() -> Iterator[tuple[str, str]]:
    """Each manual page's file and text, for a folder `man1`."""
    yield "git-mem.1", _overview()
    yield "gitmem.1", ".so man1/git-mem.1\n"
    for verb in SUMMARIES:
        one = page(verb)
        lines = _man_head(f"git-mem-{verb}", one.summary)
        lines += [*_man_synopsis(one), *_man_body(one)]
        lines += [".SH SEE ALSO", "\\fBgit-mem\\fP(1)"]
        yield f"git-mem-{verb}.1", "\n".join(lines) + "\n"


def _overview() -> str:
    one = first_page()
    lines = _man_head("git-mem", one.summary)
    lines += [".SH SYNOPSIS", "\\fBgit mem\\fP [OPTIONS] VERB [ARGUMENTS]", ".SH DESCRIPTION"]
    lines += [
        _man("Every memory is a markdown file, every change to it a commit that says who taught it.")
        + " "
        + _man("Without a verb, `git mem status`. Each verb has a page: `git mem help VERB`.")
    ]
    lines += [".SH OPTIONS", *_man_rows(one.options)]
    lines += [".SH VERBS"]
    for title, verbs in GROUPS.items():
        lines += [f".SS {title}", *_man_rows(tuple((verb, SUMMARIES[verb]) for verb in verbs))]
    lines += [".SH SETTINGS", _man(SETTINGS_TEXT), *_man_rows(settings_rows())]
    lines += [".SH ENVIRONMENT", *_man_rows(ENVIRONMENT)]
    lines += [".SH EXIT STATUS", *_man_rows(EXIT_CODES)]
    lines += [".SH SEE ALSO", "\\fBgit\\fP(1), \\fBgitattributes\\fP(5), \\fBgit-worktree\\fP(1)"]
    return "\n".join(lines) + "\n"


def _man_head(name: str, summary: str) -> list[str]:
    title = name.upper().replace("-", "\\-")
    return [
        f'.TH "{title}" "1" "" "gitmem" "gitmem"',
        ".SH NAME",
        f"{name.replace('-', chr(92) + '-')} \\- {_man(summary.rstrip('.'))}",
    ]


def _man_synopsis(one: ManualPage) -> list[str]:
    lines = [".SH SYNOPSIS"]
    for each in (one, *one.parts):
        lines += [f"\\fB{each.name}\\fP {_man(each.usage)}", ".br"]
    return lines[:-1]


def _man_body(one: ManualPage) -> list[str]:
    lines = [".SH DESCRIPTION", *_man_paragraphs(one.text)]
    if one.arguments:
        lines += [".SH ARGUMENTS", *_man_rows(one.arguments)]
    lines += [".SH OPTIONS", *_man_rows(one.options)]
    if one.parts:
        lines.append(".SH COMMANDS")
    for each in one.parts:
        lines += [f".SS {each.name}", *_man_paragraphs(each.text)]
        lines += _man_rows((*each.arguments, *each.options))
    return lines


def _man_paragraphs(text: tuple[str, ...]) -> list[str]:
    return [line for part in text for line in (".PP", _man(part))]


def _man_rows(rows: Rows) -> list[str]:
    return [line for term, told in rows for line in (".TP", f"\\fB{_man(term)}\\fP", _man(told) or "\\&")]


def _man(text: str) -> str:
    """A line of text that roff prints as it is; what stands in backticks is bold."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    safe = re.sub(r"`([^`]*)`", r"\\fB\1\\fP", safe)
    return f"\\&{safe}" if safe.startswith(".") else safe


def reference() -> str:
    """Every verb, option and setting, as one page of markdown."""
    lines = [
        "# Reference",
        "",
        "Made from the program by `python docs/make.py`: the same as `git mem help VERB` says.",
        "",
        "`-n` shows what would be done where a verb writes (`--dry-run`), and is a number where it only "
        "lists (`--max-count`), as with git.",
        "",
        "## Everywhere",
        "",
        "Before the verb; `--json`, `-q` and `-y` also after it where they make a difference.",
        "",
        *_table(first_page().options, "option"),
    ]
    for title, verbs in GROUPS.items():
        lines += ["", f"## {title}"]
        for verb in verbs:
            lines += ["", *_markdown(page(verb), 3)]
    lines += ["", "## Settings", "", SETTINGS_TEXT, "", *_table(settings_rows(), "setting")]
    lines += ["", "## Environment", "", *_table(ENVIRONMENT, "variable")]
    lines += ["", "## Exit codes", "", *_table(EXIT_CODES, "code")]
    return "\n".join(lines) + "\n"


def _markdown(one: ManualPage, level: int) -> Iterator[str]:
    yield f"{'#' * level} {one.name}"
    yield from ("", f"    {one.name} {one.usage}")
    for part in one.text:
        yield from ("", _escaped(part))
    if one.arguments or one.options:
        yield ""
        yield from _table((*one.arguments, *one.options), "option")
    for each in one.parts:
        yield ""
        yield from _markdown(each, level + 1)


def _table(rows: Rows, head: str) -> list[str]:
    # No reader of markdown agrees with the next on a bar inside of code inside of a table.
    cells = [
        f"| `{_cell(term).replace('|', '/')}` | {_escaped(_cell(told)).replace('|', '&#124;')} |"
        for term, told in rows
    ]
    return [f"| {head} | what |", "|---|---|", *cells]


def _cell(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    """Text whose angle brackets stay text, outside backticks."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(name="install-man")(install_man)


def install_man(
    ctx: typer.Context,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="A folder of MANPATH.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Writes the manual pages to `~/.local/share/man`, for `git mem --help` and `git help mem`.

    Where pip installs into an environment whose `bin` is on PATH, man finds the pages of the package by
    itself; uv and pipx keep them to themselves. Doing it again renews them.
    """
    run = context(ctx, quiet=quiet)
    edges = run.edges
    data = edges.environ.get("XDG_DATA_HOME") or str(edges.home / ".local/share")
    folder = (edges.path(to) if to else Path(data) / "man") / "man1"
    pages = list(man_pages())
    if not dry_run:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in pages:
            (folder / file).write_text(text, encoding="utf-8")
    verb = "would write" if dry_run else "wrote"
    run.out.data(f"{verb} {counted(len(pages), 'manual page')} to {folder}")
    if not dry_run:
        run.out.say("see: git mem --help")
        at = quote(str(folder))
        run.out.say(f"undo: rm {at}/git-mem*.1 {at}/gitmem.1")

"""The application: finds the verbs, one a file, and imports only the one that is asked for."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
import typer.core
import typer.main

from gitmem.cli.context import make_context
from gitmem.cli.output import Output, begin, settle
from gitmem.core.errors import UsageError
from gitmem.core.text import one_line

FIRST_SCREEN = ("init", "status", "remember", "recall", "log", "review", "sync", "undo")
GROUPS: dict[str, tuple[str, ...]] = {
    "First screen": FIRST_SCREEN,
    "Look": ("list", "show", "diff", "blame", "view"),
    "Change": (
        "save",
        "forget",
        "restore",
        "checkout",
        "move",
        "merge",
        "promote",
        "demote",
        "pause",
        "unpause",
    ),
    "Team": ("share", "check", "backup", "remote", "snapshot"),
    "Consolidate": ("dream", "docs"),
    "Care": ("doctor", "engine", "purge", "uninstall", "demo"),
    "More": (
        "import",
        "export",
        "bisect",
        "session",
        "jobs",
        "stats",
        "extract",
        "bench",
        "mcp",
        "help",
        "completion",
        "install-man",
    ),
}
SUMMARIES = {
    "init": "Start keeping memory in this repository.",
    "status": "Show where memory stands and what waits.",
    "remember": "Store one memory.",
    "recall": "Find the memories that help with a question.",
    "log": "Show what was learned, when and from whom.",
    "review": "Decide on dreams, suggestions and disputes.",
    "sync": "Fetch, merge and push shared memory.",
    "undo": "Take the newest change back, as a new commit.",
    "list": "List memories.",
    "show": "Print a memory, now or as of then.",
    "diff": "Show what changed, claim by claim.",
    "blame": "Show who taught each claim of a memory, and when.",
    "view": "Show memory on a page in a browser, and decide there.",
    "save": "Commit what agents and people edited.",
    "forget": "Delete a memory and see to it that it stays away.",
    "restore": "Bring memories back as they were.",
    "checkout": "Lay a past state out; edits there go to the tip.",
    "move": "Move a memory to another scope.",
    "merge": "Put one memory into another.",
    "promote": "Make a rule of CLAUDE.md or another file out of a memory.",
    "demote": "Make a memory again out of a rule that was one.",
    "pause": "Stop learning from sessions for a while.",
    "unpause": "Learn from sessions again.",
    "share": "Turn sharing of project memory on or off.",
    "check": "Judge memory before it is merged: for reviewers, hooks and CI.",
    "backup": "Copy private memory to a repository of yours, and keep it there.",
    "remote": "Name hosted memory stores that a scope is mirrored to.",
    "snapshot": "Copy project memory into the code tree, or show where that stands.",
    "dream": "Consolidate: propose merges and repairs as a branch to review.",
    "docs": "Keep living documents true to the code: list, check, propose.",
    "export": "Write memories as files that other tools read.",
    "bisect": "Find the change of memory that made something go wrong.",
    "import": "Bring memories of other tools in, as one proposal to review.",
    "doctor": "Find what is broken and mend it.",
    "engine": "Show or choose what thinks, and what it would send where.",
    "purge": "Remove a text from all history, here and at the remote.",
    "uninstall": "Take gitmem out of this repository; memory stays.",
    "demo": "See all of it in a throw-away folder.",
    "extract": "Extract memories from a recorded session by hand.",
    "mcp": "Serve memory to clients of the Model Context Protocol.",
    "session": "List, show and search recorded sessions.",
    "jobs": "Show what ran in the background, what was skipped, and why.",
    "stats": "Show what extraction stored and what models cost.",
    "bench": "Measure extraction, recall or dreams on data of yours.",
    "help": "Show the page of a verb, or of settings or exit codes.",
    "completion": "Print or install completion for bash, zsh or fish.",
    "install-man": "Put the manual pages where man finds them.",
}
MODULES = {
    "import": "import_memories",
    "list": "list_memories",
    "help": "topics",
    "install-man": "manual",
    "unpause": "pause",
    "demote": "promote",
}
"""Verbs whose module has another name."""
TAKES_BACK = ("unpause", "demote")
"""Verbs that stand in the module of the verb that they take back."""
MEANT = {
    "add": "remember",
    "commit": "save",
    "rm": "forget",
    "remove": "forget",
    "delete": "forget",
    "search": "recall",
    "find": "recall",
    "grep": "recall",
    "ls": "list",
    "cat": "show",
    "edit": "save",
    "mv": "move",
    "revert": "undo",
    "reset": "restore",
    "push": "sync",
    "pull": "sync",
    "fetch": "sync",
    "accept": "review accept",
    "reject": "review reject",
    "config": "help settings",
    "stash": "pause",
    "resume": "unpause",
    "man": "help",
    "sessions": "session",
    "install": "init",
}
"""What a person probably means by a word of git or another tool that is no verb here."""


class WholeWords(typer.Context.formatter_class):  # type: ignore[misc, valid-type]
    """Help that breaks no word, however narrow the terminal."""

    def write_text(self, text: str) -> None:
        """Paragraphs."""
        indent = " " * self.current_indent
        for number, part in enumerate(text.split("\n\n")):
            lines = _folded(part, self.width - self.current_indent)
            self.write(("\n" if number else "") + "".join(f"{indent}{line}\n" for line in lines))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Terms and what they mean; below each other where that leaves more room."""
        indent = " " * self.current_indent
        first = min(max(len(term) for term, _ in rows), col_max, self.width // 3) + col_spacing
        for term, meaning in rows:
            lines = _folded(meaning, self.width - self.current_indent - first)
            head = term.ljust(first)
            if len(term) + col_spacing > first:
                self.write(f"{indent}{term}\n")
                head = " " * first
            for line in lines or [""]:
                self.write(f"{indent}{head}{line}".rstrip() + "\n")
                head = " " * first


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False)


class HelpContext(typer.Context):
    """The context of every verb."""

    formatter_class = WholeWords


class LazyGroup(typer.core.TyperGroup):
    """Loads a verb's module when the verb is used; help lists summaries without loading any."""

    context_class = HelpContext

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all verbs, in the order of the help screen."""
        return [name for names in GROUPS.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a verb, or None for a word that is none."""
        if cmd_name not in SUMMARIES:
            return None
        return load_verb(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that a word stands for.

        Raises:
            UsageError: there is none; what may be meant is named.
        """
        word = args[0]
        if word not in SUMMARIES and not word.startswith("-") and not ctx.resilient_parsing:
            near = [MEANT[word]] if word in MEANT else difflib.get_close_matches(word, SUMMARIES, 2)
            meant = " or ".join(f"git mem {verb}" for verb in near)
            hint = f"Did you mean: {meant}" if meant else "See all verbs: git mem -h"
            raise UsageError(f"There is no verb {one_line(word, 40)!r}", hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the groups of the help screen."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, SUMMARIES[name]) for name in names])


@cache
def load_verb(name: str) -> Any:
    """The command of a verb, its module loaded; made once a process, as each signature is read for it."""
    module = import_module(f"gitmem.cli.{MODULES.get(name, name)}")
    verb = typer.Typer(add_completion=False, rich_markup_mode=None)
    if name in TAKES_BACK:
        verb.command()(getattr(module, name))
    else:
        module.register(verb)
    command = typer.main.get_command(verb)
    command.name = name
    for each in (command, *getattr(command, "commands", {}).values()):
        each.context_class = HelpContext
        # Else it is cut where the line ends, in the middle of a thought.
        each.short_help = " ".join((each.help or "").partition("\n\n")[0].split())
    return command


app = typer.Typer(
    name="gitmem",
    cls=LazyGroup,
    add_completion=True,
    no_args_is_help=False,
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def gitmem(
    ctx: typer.Context,
    directory: Annotated[
        Path | None, typer.Option("-C", metavar="DIR", help="Run as if started there.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but data and errors.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")] = False,
    color: Annotated[
        Literal["auto", "always", "never"], typer.Option("--color", help="When to print colours.")
    ] = "auto",
    no_pager: Annotated[bool, typer.Option("--no-pager", help="Never start a pager.")] = False,
) -> None:
    """What coding agents learn, kept in git. Alone it is `status`."""
    out = Output(as_json, quiet, color, yes, pages=not no_pager)
    ctx.obj = lambda: make_context(directory, out)
    begin(ctx.invoked_subcommand or "status", quiet=out.silent)
    if ctx.invoked_subcommand is None:
        import_module("gitmem.cli.status").status(ctx)


@cache
def program() -> Any:
    """The whole command line; shells complete it, but are set up by `git mem completion` alone."""
    command = typer.main.get_command(app)
    command.params = [one for one in command.params if not str(one.name).endswith("_completion")]
    return command


def _required(takes: Iterable[Any]) -> Iterator[str]:
    """What a verb cannot do without, as it is typed."""
    for one in takes:
        if one.required:
            value = one.metavar or one.name.upper()
            yield value if one.param_type_name == "argument" else f"{one.opts[0]} {value}"


def main() -> int:
    """Runs the command line; the entry point reports errors."""
    try:
        code = program().main(prog_name="gitmem", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Abort:
        return 130
    except SystemExit as stop:
        # So it answers a reader who went away; what is said of that is for the entry point.
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        raise
    except Exception as error:
        # Typer carries its own copy of click, whose exceptions have no public base class.
        show = getattr(error, "show", None)
        if show is None:
            raise
        asked = getattr(error, "ctx", None)
        words = " ".join(("git mem", *getattr(asked, "command_path", "gitmem").split()[1:]))
        takes = asked.command.params if asked is not None else []
        message = str(error.format_message())  # type: ignore[attr-defined]
        message = message.replace("valid int range", "valid number")
        hint = f"See: {words} -h"
        if message.startswith("Got unexpected extra argument"):
            taken = [one.metavar or one.name.upper() for one in takes if one.param_type_name == "argument"]
            most = f"no more than {' '.join(taken)}" if taken else "options alone"
            quotes = taken[:1] in (["TEXT"], ["TEXT|NAME"])
            said = "Put words that belong together into quotes" if quotes else f"It takes {most}"
            hint = f"{said}. {hint}"
        elif message.startswith("Missing"):
            hint = f"Say: {' '.join([words, *_required(takes)])} (more: {words} -h)"
        raise UsageError(message, hint) from error
    finally:
        settle()

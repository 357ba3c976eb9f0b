"""The application: finds the verbs, one a file, and imports only the one that is asked for."""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from gitmem.cli.output import Output
from gitmem.cli.run import make_context

FIRST_SCREEN = ("init", "status", "remember", "recall", "log", "review", "sync", "undo")
GROUPS: dict[str, tuple[str, ...]] = {
    "First screen": FIRST_SCREEN,
    "Look": ("list", "show", "diff", "blame", "view"),
    "Change": ("save", "forget", "restore", "checkout", "move", "promote", "demote", "pause", "unpause"),
    "Team": ("share", "check", "backup", "snapshot"),
    "Consolidate": ("dream", "docs"),
    "Care": ("doctor", "engine", "purge", "uninstall", "demo"),
}
HIDDEN = ("extract", "mcp", "session", "jobs", "stats", "bench")
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
    "promote": "Make a rule of CLAUDE.md or another file out of a memory.",
    "demote": "Make a memory again out of a rule that was one.",
    "pause": "Stop learning from sessions for a while.",
    "unpause": "Learn from sessions again.",
    "share": "Turn sharing of project memory on or off.",
    "check": "Judge memory before it is merged: for reviewers, hooks and CI.",
    "backup": "Copy private memory to a repository of yours, and keep it there.",
    "snapshot": "Copy project memory into the code tree, or show where that stands.",
    "dream": "Consolidate: propose merges and repairs as a branch to review.",
    "docs": "Keep living documents true to the code: list, check, propose.",
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
}
MODULES = {"list": "list_memories"}


class LazyGroup(typer.core.TyperGroup):
    """Loads a verb's module when the verb is used; help lists summaries without loading any."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all verbs that are not hidden, in the order of the help screen."""
        return [name for names in GROUPS.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a verb, or None for a word that is none."""
        if cmd_name not in SUMMARIES:
            return None
        module = import_module(f"gitmem.cli.{MODULES.get(cmd_name, cmd_name)}")
        verb = typer.Typer(add_completion=False, rich_markup_mode=None)
        module.register(verb)
        command = typer.main.get_command(verb)
        command.name = cmd_name
        command.hidden = cmd_name in HIDDEN
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the groups of the help screen."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, SUMMARIES[name]) for name in names])


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
    color: Annotated[str, typer.Option("--color", help="auto, always or never.")] = "auto",
) -> None:
    """What coding agents learn, kept in git. Alone it is `status`."""
    out = Output(as_json, quiet, color, yes)
    ctx.obj = lambda: make_context(directory, out)
    if ctx.invoked_subcommand is None:
        import_module("gitmem.cli.status").status(ctx)


def main() -> int:
    """Runs the command line; usage errors exit 2, the entry point reports all others."""
    try:
        code = typer.main.get_command(app).main(prog_name="gitmem", standalone_mode=False)
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
        said = StringIO()
        show(file=said)
        for line in said.getvalue().splitlines():
            Output().say(line)
        return int(getattr(error, "exit_code", 2))

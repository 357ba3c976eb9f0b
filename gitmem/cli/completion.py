"""`git mem completion`: a script by which bash, zsh or fish complete `git mem`, `git-mem` and `gitmem`."""

from __future__ import annotations

from pathlib import Path
from shlex import join, quote
from typing import Annotated, Literal

import typer

from gitmem.app.git_hooks import hooks_folder
from gitmem.cli.context import context
from gitmem.cli.options import DryRun, Quiet
from gitmem.core.errors import UsageError
from gitmem.flows.context import Edges

Shell = Literal["bash", "zsh", "fish"]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(completion)


def completion(
    ctx: typer.Context,
    shell: Annotated[
        Shell | None, typer.Argument(help="Whose; that of $SHELL otherwise.", show_default=False)
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Write it where the shell looks, instead of printing it.")
    ] = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Prints a script that completes verbs, options, memories, sessions and ids of review; or installs it.

    For bash and fish the files are found by themselves in the next shell; zsh wants one line in `~/.zshrc`,
    which is printed.
    """
    run = context(ctx, quiet=quiet)
    name = shell or _own_shell(run.edges)
    text = (hooks_folder() / f"completion.{name}").read_text(encoding="utf-8")
    if not (install or dry_run):
        typer.echo(text, nl=False)
        return
    files = _files(run.edges, name)
    for file in files:
        if not dry_run:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        run.out.data(f"{'would write' if dry_run else 'wrote'} {file}")
    if name == "zsh":
        run.out.say(f"put this above compinit in ~/.zshrc: fpath+=({quote(str(files[0].parent))})")
    if not dry_run:
        run.out.say("it works in the next shell")
        run.out.say(f"undo: rm {join(map(str, files))}")


def _own_shell(edges: Edges) -> Shell:
    found = Path(edges.environ.get("SHELL", "")).name
    for name in ("bash", "zsh", "fish"):
        if found == name:
            return name
    raise UsageError("Say for which shell", "git mem completion bash|zsh|fish")


def _files(edges: Edges, shell: Shell) -> tuple[Path, ...]:
    """Where a shell looks for it: bash by the name of a command, fish at its start."""
    data = Path(edges.environ.get("XDG_DATA_HOME") or edges.home / ".local/share")
    config = Path(edges.environ.get("XDG_CONFIG_HOME") or edges.home / ".config")
    if shell == "bash":
        folder = Path(edges.environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion")
        return folder / "completions/git-mem", folder / "completions/gitmem"
    if shell == "zsh":
        return (data / "zsh/site-functions/_git-mem",)
    return (config / "fish/conf.d/gitmem.fish",)

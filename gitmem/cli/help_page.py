"""`git mem help`: the page of a verb, of settings, the environment or exit codes."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.core.errors import UsageError
from gitmem.core.text import one_line


def _topics(incomplete: str) -> list[str]:
    from gitmem.cli.app import SUMMARIES
    from gitmem.cli.topics import TOPICS

    return [word for word in (*SUMMARIES, *TOPICS) if word.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(help)


def help(
    ctx: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[VERB|TOPIC]",
            help="A verb, perhaps with a command of its own; or settings, environment, exit-codes.",
            show_default=False,
            autocompletion=_topics,
        ),
    ] = None,
) -> None:
    """Shows the page of a verb or topic; without one, the verbs.

    It is what `-h` prints. `git mem --help` shows the manual page, where man
    finds it (`git mem install-man`).
    """
    from gitmem.cli.app import SUMMARIES, HelpContext, load_verb, program
    from gitmem.cli.topics import SETTINGS_TEXT, TOPICS, rows_of

    words = list(topic or ())
    root = ctx.find_root()
    run = context(ctx, pages=True)
    if not words:
        typer.echo(program().get_help(root))
        return
    name = words[0].removeprefix("mem-") if words[0].startswith("mem-") else words[0]
    if name in TOPICS and len(words) == 1:
        if name == "settings":
            run.out.data(SETTINGS_TEXT)
            run.out.data()
        for term, told in rows_of(name):
            run.out.data(run.out.paint(term, "bold"))
            run.out.data(f"    {told}")
        return
    if name not in SUMMARIES:
        raise UsageError(
            f"There is no page {one_line(name, 40)!r}", f"Verbs: git mem -h; and: {', '.join(TOPICS)}"
        )
    command, path = load_verb(name), f"git mem {name}"
    for word in words[1:]:
        parts = getattr(command, "commands", {})
        if word not in parts:
            raise UsageError(f"{path} has no command {one_line(word, 40)!r}", f"See: {path} -h")
        command, path = parts[word], f"{path} {word}"
    page = HelpContext(command, info_name=path, help_option_names=["-h", "--help"])
    typer.echo(command.get_help(page))

"""`git mem help`, and what the manual says besides verbs: settings, the environment, exit codes."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.core.errors import UsageError
from gitmem.core.text import one_line
from gitmem.ledger.workspace import CHOICES, DEFAULTS, PERSONAL, WORDS

Rows = tuple[tuple[str, str], ...]

SETTINGS: Rows = (
    (
        "extract",
        "what happens to finds that nobody asked to be remembered: stored, put in review, not looked for",
    ),
    ("share", "set by `git mem share`"),
    (
        "engine",
        "what thinks (unset: `agent` where a client runs gitmem's hooks, else `offline`); set by "
        "`git mem engine set`",
    ),
    ("model", "the model of the engine `anthropic`; unset: `claude-haiku-5-5`"),
    (
        "baseUrl",
        "a URL: another server than the provider's; `ANTHROPIC_BASE_URL` chooses nothing, the key is "
        "`ANTHROPIC_API_KEY`",
    ),
    ("caFile", "a file: certificates of that server, where the system's own do not do"),
    (
        "patience",
        "seconds that one answer of the engine `anthropic` may take; unset: 600, of a local server 1800",
    ),
    (
        "protocol",
        "how that engine extracts and dreams: the model works with tools, or is asked one short question a "
        "sentence or pair of claims; `auto` asks questions where the server is on this machine and the "
        "model is no Claude",
    ),
    ("maxRuns", "extractions a day by a model, over all repositories; a day is one in UTC"),
    ("maxTokens", "tokens a day; those read from cache count a tenth"),
    ("extractEvery", "turns of yours between two extractions of a session"),
    (
        "ignore",
        "texts, or `/expressions/`: a message that holds one is not looked at; may be given more than once",
    ),
    ("dream", "whether dreams start by themselves"),
    (
        "recallAt",
        "when an agent is told what memory knows: with your prompt, and as it touches a file or runs a "
        "command that a rule or a warning names, or after one failed with an error that memory knows; "
        "one of the two words alone leaves the other out",
    ),
    ("mode", "whether an extraction writes memories, or lines of the daily log"),
    ("notes", "whether sessions are summed up"),
    ("sessionDays", "days for which session notes are kept"),
    ("docs", "whether living documents are looked at after commits"),
    ("recallCommits", "whether commits of the code answer prompts and questions"),
    (
        "trust",
        "a file of allowed signers as git has it, outside the work tree, or `true` for git's own: shared "
        "memory is told with who signed it, or whom it claims to be by",
    ),
    (
        "requireSigned",
        "`true`: project memory that nobody trusted signed is shown to no agent, and `git mem check` "
        "refuses it",
    ),
    ("remote", "a remote's name: where memory is shared; unset: `origin` where there is one"),
    ("claudeDir", "the folder of agents' files in a work tree"),
    ("backup", "a URL, set by `git mem backup`"),
    ("backupEncryptTo", "whom the backup is encrypted to, set by `git mem backup --encrypt-to`"),
    ("allow", "fingerprints of texts that look like secrets and are none"),
)
"""Setting, and what it does."""

ENVIRONMENT: Rows = (
    ("GITMEM_DISABLE=1", "hooks do nothing"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "the client's own switch; hooks of gitmem do nothing, too"),
    ("GITMEM_NOW", "the time, in epoch seconds, for tests"),
    ("NO_COLOR, TERM=dumb", "no colours, unless --color=always"),
    ("COLUMNS", "how wide a terminal is"),
    ("GIT_PAGER, PAGER", "the pager, as git chooses it (`core.pager` stands between the two)"),
    ("ANTHROPIC_API_KEY", "the key of the engine `anthropic`"),
    ("XDG_DATA_HOME", "where the private repository is; unset: `~/.local/share`"),
)

EXIT_CODES: Rows = (
    ("0", "fine"),
    ("1", "a check found something, or the answer was no"),
    ("2", "usage"),
    ("3", "repository or environment"),
    ("4", "engine"),
    ("130", "interrupted"),
    ("255", "a bug in gitmem"),
)

TOPICS = ("settings", "environment", "exit-codes")

SETTINGS_TEXT = (
    "They are git configuration: `git config gitmem.extract auto` for a repository, `git config --global` "
    "for all. Those that are yours alone count only there."
)


def settings_rows() -> Rows:
    """Each setting's key in git's configuration; its values, the default, and what it does."""
    return tuple((f"gitmem.{name}", f"{_values(name)}{told}{_whose(name)}") for name, told in SETTINGS)


def _values(name: str) -> str:
    default = DEFAULTS.get(name.lower(), "")
    choices = CHOICES.get(name, WORDS.get(name.lower(), ()))
    if not choices and default in ("true", "false"):
        choices = ("true", "false")
    parts = [f"`{one}`" for one in choices]
    parts += [f"default `{default}`"] if default else []
    return f"{', '.join(parts)}: " if parts else ""


def _whose(name: str) -> str:
    return "; yours alone" if name.lower() in PERSONAL else ""


def rows_of(topic: str) -> Rows:
    """The rows of one of `TOPICS`."""
    return {"settings": settings_rows(), "environment": ENVIRONMENT, "exit-codes": EXIT_CODES}[topic]


def _topics(incomplete: str) -> list[str]:
    from gitmem.cli.app import SUMMARIES

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

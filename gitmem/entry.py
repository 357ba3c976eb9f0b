"""The commands `gitmem` and `git-mem`: hooks, worker and merge driver before anything heavy is loaded.

A commit, a prompt and a merge wait for these; they get by with the standard library until there is work.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from collections.abc import Sequence

from gitmem import __version__

ENVIRONMENT = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.ENOTDIR,
    }
)
NO_ACCESS = 3
INTERRUPTED = 130
BUG = 255
# What a shell shows for a git that a closed pipe has ended (128 and SIGPIPE).
PIPE_CLOSED = 141
LOG_BYTES = 256 * 1024
COMPLETING = "_GITMEM_COMPLETE"
"""Set by a shell that wants the line completed, not run."""


def main() -> int:
    """Runs the command line and returns its exit code; see `gitmem.core.errors` for their meaning."""
    # A command lives for a moment, and what it makes is hardly ever garbage.
    gc.set_threshold(50_000)
    # Else the interpreter looks through all of it once more at its end, for a tenth of what a hook takes.
    atexit.register(gc.freeze)
    _read_names_as_git_does()
    _open_streams()
    try:
        code = _dispatch(sys.argv[1:])
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence()
        return PIPE_CLOSED
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """Says what went wrong, and returns the exit code."""
    from gitmem.core.errors import GitmemError  # a hook that works does not wait for it

    if isinstance(error, GitmemError):
        _say(f"gitmem: {error.message}")
        if error.hint:
            _say(f"hint: {error.hint}")
        return error.exit_code
    if isinstance(error, OSError) and error.errno in ENVIRONMENT:
        _say(f"gitmem: {error.filename or 'a file'} cannot be written: {error.strerror}")
        _say("hint: Free some disk space, or make the folder writable for you, and run it again.")
        return NO_ACCESS
    where = _write_traceback(error)
    _say(f"gitmem: a bug: {type(error).__name__}: {error}".split("\n", 1)[0] + where)
    return BUG


def _dispatch(argv: Sequence[str]) -> int:
    word = argv[0] if argv else ""
    if word == "hook":
        from gitmem.app import hooks as hook_entry

        return hook_entry.run()
    if word == "worker":
        from gitmem.app import worker

        return worker.main(argv[1:], os.environ)
    if word == "merge-driver":
        from gitmem.app import drivers

        return drivers.merge(argv[1:])
    if word == "textconv":
        from gitmem.app import drivers

        return drivers.show(argv[1:])
    if list(argv) in (["--version"], ["version"]):
        sys.stdout.write(f"gitmem {__version__}\n")
        return 0
    if word == "recall" and _is_plain(argv[1:]):
        from gitmem.cli import recall_output

        return recall_output.recall(argv[1:])
    from gitmem.cli import app

    return app.main()


def _is_plain(words: Sequence[str]) -> bool:
    """Whether words are a question, perhaps with `--json`, and nothing that takes the parser to read."""
    asked = [word for word in words if word != "--json"]
    return bool(asked) and not any(word.startswith("-") for word in asked) and COMPLETING not in os.environ


def _read_names_as_git_does() -> None:
    """Starts over in UTF-8 where the locale would make other names of those that git and the client use."""
    if sys.getfilesystemencoding() != "utf-8" and "utf8" not in sys._xoptions and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - itself


def _open_streams() -> None:
    """Sees to it that text goes somewhere: nowhere if a stream is closed, escaped where it does not fit."""
    encoding = None
    if "utf8" in sys._xoptions and "PYTHONIOENCODING" not in os.environ:
        import locale

        encoding = locale.getencoding()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _say(line: str) -> None:
    """Writes one line to stderr, by the one exit: an error may say what somebody's memory is called."""
    from gitmem.flows.redaction import redact

    text = redact(line).replace("\n", "\\n").replace("\t", "\\t")
    if "gitmem.cli.output" in sys.modules:
        # A hook that an agent waits for speaks to no terminal.
        from gitmem.cli.output import fitted_talk

        text = fitted_talk(text)
    try:
        sys.stderr.write(text + "\n")
    except (OSError, ValueError):
        return


def _silence() -> None:
    """Lets the interpreter's last flush go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _write_traceback(error: Exception) -> str:
    import time
    import traceback
    from pathlib import Path

    from gitmem.ledger.job_record import records
    from gitmem.rules.redaction import redact

    report = redact("".join(traceback.format_exception(error)), records)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    data = os.environ.get("XDG_DATA_HOME", "")
    try:
        base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
        folder = base / "gitmem"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / "errors.log"
        full = path.exists() and path.stat().st_size > LOG_BYTES
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_TRUNC if full else os.O_APPEND)
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
            file.write(f"{stamp} gitmem {__version__}\n{report}\n")
    except (OSError, RuntimeError):
        sys.stderr.write(report)
        return ""
    return f" (traceback: {path})"

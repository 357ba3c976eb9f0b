"""Where the environment, the home directory and the clock are read: once, for everything below."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.core.limits import LATEST
from gitmem.flows.context import Edges

# Would lead the secret detector to a library of somebody else's choice.
UNSAFE_VARIABLES = frozenset({"BETTERLEAKS_LIB_PATH"})


def real_edges(cwd: Path | None = None) -> Edges:
    """The world of this process; a fixed time can be given for tests as `GITMEM_NOW` (epoch seconds)."""
    for name in UNSAFE_VARIABLES:
        os.environ.pop(name, None)
    fixed = os.environ.get("GITMEM_NOW", "")
    now = float(fixed) if fixed.replace(".", "", 1).isdigit() else time.time()
    now = min(now, LATEST)
    try:
        here = (cwd or Path.cwd()).resolve()
    except OSError as error:
        raise RepositoryError(
            f"The current folder cannot be used: {error.strerror}", "cd elsewhere."
        ) from error
    person_in: Path | None = None
    with suppress(OSError):  # a folder that is gone
        person_in = Path.cwd().resolve()
    return Edges(dict(os.environ), here, now, person_in=person_in, carries=_carries)


def _carries(worktree: Path) -> bool:
    from gitmem.app.client_hooks import carries  # hooks that ask for no engine look at no hook file

    return carries(worktree)

"""The salt of a clone's tombstones: made once, so that equal texts of two teams do not show."""

from __future__ import annotations

import re
import secrets

from gitmem.store.git import config_get, config_set
from gitmem.store.workspace import Scope, Workspace

KEY = "gitmem.salt"


def salt(workspace: Workspace, scope: Scope) -> str:
    """32 hexadecimal digits from the configuration of the scope's repository, made where there are none.

    Raises:
        RepositoryError: the configuration cannot be written.
    """
    where = scope.repo.git_dir
    known = config_get(workspace.git, None, KEY, scope="local", git_dir=where) or ""
    if re.fullmatch(r"[0-9a-f]{32}", known):
        return known
    made = secrets.token_hex(16)
    config_set(workspace.git, None, KEY, made, git_dir=where)
    return made

"""Renewal of hooks that an older gitmem made, once, by the worker; what a person took out stays out."""

from __future__ import annotations

import hashlib
from itertools import product

from gitmem.app import hook_scripts
from gitmem.app.client_hooks import (
    apply_hooks,
    command,
    is_tracked,
    plan_hooks,
    plugin_text,
    stands_in,
    tree_place,
)
from gitmem.app.clients import CLIENTS
from gitmem.app.git_drivers import (
    DRIVER_KEY,
    apply_merge_setup,
    merge_command,
    plan_merge_setup,
    text_command,
)
from gitmem.app.git_hooks import HOOKS, HookAction, apply, plan_git_hooks, read_setup
from gitmem.app.launcher import Launcher
from gitmem.core.errors import GitmemError
from gitmem.git.command import config_get_all
from gitmem.ledger.files import replace_file
from gitmem.ledger.workspace import Workspace

FILE = "renewed"
"""In the working state: the digest of all that this clone was last brought to."""


def renew_hooks(workspace: Workspace) -> list[str]:
    """Brings hooks, settings and drivers of an older gitmem to this one's form.

    Where they were renewed to this form before, nothing is read but one small file. What is missing stays
    so: `init` and `doctor` install, and they ask.

    Returns:
        What failed, a line each.
    """
    argv = Launcher(workspace.around.data).argv
    common, git = workspace.layout.common_dir, workspace.git
    texts = [hook_scripts.script(hook, argv).decode(errors="surrogateescape") for hook in HOOKS]
    for client in CLIENTS.values():
        if client.form == "plugin":
            texts.append(plugin_text(client, argv).decode(errors="surrogateescape"))
        else:
            texts += [command(client, argv, event) for event in client.events]
    texts += [merge_command(argv), text_command(argv)]
    wanted = hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest().encode()
    try:
        if (workspace.state / FILE).read_bytes() == wanted:
            return []
    except OSError:
        pass  # never renewed yet
    troubles = []
    try:
        steps = plan_git_hooks(common, argv, read_setup(git, workspace.top))
        apply([step for step in steps if _is_there(step)], git)
        if config_get_all(git, None, DRIVER_KEY, git_dir=common):
            apply_merge_setup(plan_merge_setup(git, common, argv), git)
    except GitmemError as error:
        # Not tried again with every job: `doctor` says what is wrong.
        troubles.append(f"hooks of an older gitmem: {error.message}")
    for tree, client in product(workspace.worktrees, CLIENTS.values()):
        place = tree_place(client, tree.path, common)
        try:
            if stands_in(place):
                apply_hooks(plan_hooks(place, argv, is_tracked(place, workspace)))
        except GitmemError as error:
            troubles.append(f"hooks of an older gitmem: {error.message}")
    replace_file(workspace.state / FILE, wanted, 0o600)
    return troubles


def _is_there(step: HookAction) -> bool:
    """Whether a step renews what gitmem wrote before: a block of ours, or a script in our own folder."""
    ours = step.path.parent.name == "hooks" and step.path.parent.parent.name == "gitmem"
    before = step.expected
    return step.kind == "write" and before is not None and (ours or hook_scripts.has_fence(before))

"""What a memory tree may not hold, and formats that a newer gitmem wrote."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from gitmem.app.doctor.evidence import stand
from gitmem.app.doctor.finding import Finding, Patient
from gitmem.core.errors import RepositoryError
from gitmem.git.repository import EXECUTABLE, LINK, SUBMODULE, TREE, MissingObject, Repository
from gitmem.ledger.land import Tip, check_format

ODD = {LINK: "a symbolic link", SUBMODULE: "a submodule", EXECUTABLE: "marked executable"}
ADVICE = "see who committed it: git log --all -- PATH; a commit that takes it out mends it"


def check_trees(patient: Patient) -> list[Finding]:
    """Looks at the newest tree of each scope."""
    found: list[Finding] = []
    for scope in patient.scopes:
        standing = stand(patient.workspace, scope)
        if standing.state != "memory" or standing.oid is None:
            continue
        try:
            tree = scope.repo.commit(standing.oid).tree
            found += [
                Finding("tree", f"{scope.ref}: {why}", ADVICE) for why in _oddities(scope.repo, tree, "")
            ]
        except MissingObject:
            # `check_objects` has it.
            continue
        try:
            check_format(scope.repo, scope.ref, Tip(standing.oid, tree))
        except RepositoryError as error:
            found.append(Finding("format", error.message, error.hint))
    return found


def _oddities(repo: Repository, tree: str, prefix: str) -> Iterator[str]:
    alike: dict[str, str] = {}
    for name, entry in sorted(repo.tree(tree).items()):
        path = prefix + name
        if entry.mode in ODD:
            yield f"{path} is {ODD[entry.mode]}"
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
        if folded in alike:
            yield f"{path} and {prefix}{alike[folded]} are one file where case or Unicode form do not count"
        alike[folded] = name
        if entry.mode == TREE:
            yield from _oddities(repo, entry.oid, f"{path}/")

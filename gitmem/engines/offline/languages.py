"""What people lay down in German, French and Spanish: the plainest forms only."""

from __future__ import annotations

import re

from gitmem.engines.offline.signals import Signal

_LABEL = "a standing instruction, not in English"

OTHER_LANGUAGES: tuple[Signal, ...] = (
    Signal(
        _LABEL,
        re.compile(
            r"\b(?:wir (?:be)?nutzen|wir verwenden|ab (?:jetzt|sofort)|von nun an|in zukunft|zukünftig"
            r"|künftig"
            r"|grundsätzlich|merk dir|bitte (?:immer|nie|niemals|keine?n?))\b"
            r"|\b(?:nous utilisons|on utilise|à partir de maintenant|désormais|n'utilise (?:pas"
            r"|jamais)|ne \\w+ jamais"
            r"|il faut toujours)\b"
            r"|\b(?:usamos|utilizamos|a partir de ahora|de ahora en adelante|no uses|nunca uses"
            r"|usa siempre)\b"
        ),
        "feedback",
        0.55,
    ),
    Signal(
        "a preference, not in English",
        re.compile(
            r"\b(?:ich bevorzuge|mir ist lieber|ich mag keine?|je préfère|je ne veux (?:pas|jamais)"
            r"|prefiero|no me gusta que)\b"
        ),
        "user",
        0.55,
    ),
)

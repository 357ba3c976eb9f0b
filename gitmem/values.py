"""Dataclasses that are built when the first one is made, not when their module is loaded.

To build one is to compile half a dozen methods: 0.4 ms. A command loads a hundred such classes and makes
values of a few; a hook that an agent waits for would spend a quarter of its time on the others.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)

_LOCK = threading.RLock()
_WAITS = "_gitmem_waits"


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(*, frozen: bool = False, order: bool = False) -> Callable[[Class], Class]:
    """Makes a class a `dataclasses.dataclass`, with these arguments, as soon as an instance is made of it.

    Until then the class knows its annotations alone: `fields` and `__match_args__` are for instances. A
    class with slots (which is another one once it is built) or a `__new__` of its own takes the standard
    library's decorator.
    """

    def later(cls: Class) -> Class:
        def build() -> None:
            with _LOCK:
                if _WAITS not in vars(cls):
                    return
                dataclasses.dataclass(frozen=frozen, order=order)(cls)
                type.__delattr__(cls, _WAITS)
                type.__setattr__(cls, "__new__", _new)

        def first(kind: type, /, *_: Any, **__: Any) -> Any:
            build()
            return object.__new__(kind)

        def derived(_: type) -> None:
            build()

        type.__setattr__(cls, _WAITS, True)
        # Whatever derives from it, this way or the standard library's, has to find its fields.
        type.__setattr__(cls, "__init_subclass__", classmethod(derived))
        # Not in `__init__`: that would be missing for other threads while it is put in place.
        type.__setattr__(cls, "__new__", first)
        return cls

    return later


def _new(kind: type, /, *_: Any, **__: Any) -> Any:
    """`object.__new__` takes no arguments in a class that once had a `__new__` of its own."""
    return object.__new__(kind)

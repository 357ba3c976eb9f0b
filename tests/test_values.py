"""A dataclass that is built late is the standard library's in all that a value is used for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field

import pytest

from gitmem.values import dataclass


@dataclass(frozen=True)
class Kept:
    """A value with defaults of both kinds."""

    name: str
    tags: list[str] = field(default_factory=list, compare=False)
    size: int = 1


def test_a_value_is_made_compared_shown_and_hashed_as_any_dataclass() -> None:
    one = Kept("a", size=2)
    assert one == Kept("a", ["other"], 2) and one != Kept("a") and hash(one) == hash(Kept("a", [], 2))
    assert repr(one).endswith("Kept(name='a', tags=[], size=2)")
    assert dataclasses.replace(one, name="b") == Kept("b", [], 2)
    assert dataclasses.asdict(one) == {"name": "a", "tags": [], "size": 2}
    assert copy.deepcopy(one) == one and pickle.loads(pickle.dumps(one)) == one
    assert [each.name for each in dataclasses.fields(one)] == ["name", "tags", "size"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "c"  # type: ignore[misc]


def test_a_first_value_made_wrongly_is_an_error_and_the_next_is_a_value() -> None:
    @dataclass(frozen=True)
    class Fresh:
        """Never made before."""

        name: str

    with pytest.raises(TypeError, match="name"):
        Fresh()  # type: ignore[call-arg]
    assert Fresh("a") == Fresh(name="a")


def test_no_name_of_a_field_is_taken() -> None:
    @dataclass(frozen=True)
    class Odd:
        """Its fields are named as arguments are elsewhere."""

        kind: str
        cls: str
        args: int

    assert Odd(kind="k", cls="c", args=1) == Odd("k", "c", 1)


def test_a_class_that_derives_from_one_has_its_fields() -> None:
    @dataclass(order=True)
    class Base:
        """Comes first."""

        first: int

    @dataclass(order=True)
    class Derived(Base):
        """Is made first."""

        second: int = 0

    assert Derived(1, 2) > Derived(1) and Base(1) < Base(2)


def test_the_standard_librarys_decorator_and_a_plain_class_can_derive_from_one() -> None:
    @dataclass(frozen=True)
    class Base:
        """Never made."""

        first: int

    @dataclasses.dataclass(frozen=True)
    class Other(Base):
        """Built at once."""

        second: int = 0

    class Plain(Base):
        """Adds nothing."""

    assert Other(1, 2) == Other(first=1, second=2) and Plain(3).first == 3


def test_it_is_built_at_the_first_value_and_once_whichever_thread_is_first() -> None:
    @dataclass(frozen=True)
    class Shared:
        """Made in many threads at once."""

        number: int

    assert not dataclasses.is_dataclass(Shared)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(Shared, range(64)))
    assert made == [Shared(number) for number in range(64)]
    assert dataclasses.is_dataclass(Shared)

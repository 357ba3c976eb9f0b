"""The catalog: a disposable full-text index of one repository's memories, keyed by blob."""

from gitmem.store.catalog.catalog import Catalog, Place
from gitmem.store.catalog.fields import Fields, Read, read_memory

__all__ = ["Catalog", "Fields", "Place", "Read", "read_memory"]

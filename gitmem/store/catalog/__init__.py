"""The catalog: a disposable full-text index of one repository's memories, keyed by blob."""

from gitmem.store.catalog.catalog import Catalog, Place
from gitmem.store.catalog.fields import Fields, Read, read_memory
from gitmem.store.catalog.folders import Kept
from gitmem.store.catalog.heads import Head

__all__ = ["Catalog", "Fields", "Head", "Kept", "Place", "Read", "read_memory"]

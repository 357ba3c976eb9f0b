"""Which memories may answer a question: strategies over the catalog, fused into one score."""

from gitmem.store.candidates.candidate import Candidate
from gitmem.store.candidates.search import search

__all__ = ["Candidate", "search"]

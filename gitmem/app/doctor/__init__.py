"""`doctor`: finds what is broken, as values that say how each is mended, and mends one at a time."""

from gitmem.app.doctor.finding import Finding
from gitmem.app.doctor.plan import carry_out, plan

__all__ = ["Finding", "carry_out", "plan"]

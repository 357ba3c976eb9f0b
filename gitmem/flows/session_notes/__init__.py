"""Session notes as people and agents meet them: taken by the worker, told at a start, shown on request."""

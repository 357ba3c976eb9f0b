"""What agents and git call: hooks, the worker, set-up; composes the flows."""

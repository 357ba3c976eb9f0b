"""The process around memory: context, state, worker, hooks, clients, set-up, doctor."""

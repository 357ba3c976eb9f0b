"""The demo: the real commands in a throw-away folder, each step checking what it claims."""

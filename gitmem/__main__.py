"""Lets `python -m gitmem` be the same as `gitmem`."""

import sys

from gitmem.entry import main

sys.exit(main())

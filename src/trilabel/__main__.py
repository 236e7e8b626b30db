"""`python -m trilabel` is `trilabel`."""

import sys

from trilabel.cli.main import main

sys.exit(main())

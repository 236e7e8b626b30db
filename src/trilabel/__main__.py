"""`python -m trilabel` runs the same command line as `trilabel`."""

import sys

from trilabel.cli.main import main

sys.exit(main())

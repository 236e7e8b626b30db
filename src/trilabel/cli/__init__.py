"""The command line. Only this package prints; it imports the others when a command runs, so that help is fast."""

import gc

# Importing makes hundreds of thousands of objects that stay; looking for garbage among them took a tenth of the start.
gc.set_threshold(100_000)

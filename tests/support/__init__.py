"""What tests share."""

SECONDS_UNTIL_HUNG = 1200  # ends a test that would wait forever; no test may come near it, however busy the machine

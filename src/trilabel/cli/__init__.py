"""The command line. Only this package prints; it imports the others when a command runs, so that help is fast."""

"""The command line. Only this room prints; it imports the others when a command runs, so that help is fast."""

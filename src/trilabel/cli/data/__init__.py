"""`trilabel data …`: commands for data sets."""

"""`trilabel data …`: commands on data sets."""

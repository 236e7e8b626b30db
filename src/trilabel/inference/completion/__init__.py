"""Unknown labels decided with a promise: what is asked for, what is found, and how it is written down."""

"""The commands of the command line, by what they are for: each a dataclass of arguments that is called to run."""

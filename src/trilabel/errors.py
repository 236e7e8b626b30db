"""The one exception that means "the input is at fault, and here is what to do about it"."""


class TrilabelError(ValueError):
    """A one-line message for the person at the keyboard: what is wrong, where, and what to do.

    The command line prints it without a traceback and exits with 1.
    """

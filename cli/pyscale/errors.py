"""The user's mistakes: one sentence that says what was wrong, where, and what to do."""


class UserError(Exception):
    """Ends a command with its message on stderr and exit code 2, without a traceback."""

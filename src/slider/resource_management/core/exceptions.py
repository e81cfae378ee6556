"""What can go wrong in a script. Each has a `code`: what the script's process ends with."""


class Fail(Exception):
    """Something failed; the sentence says what."""

    code = 1


class InvalidArgument(Fail):
    """A resource was described in a way that cannot be."""


class ExecutionFailed(Fail):
    """A command ended with something else than 0. `code` is as a shell shows it."""

    def __init__(self, text, code=1, out=""):
        super().__init__(text)
        self.code, self.out = code, out


class ExecuteTimeoutException(Fail):
    """A command took too long and was ended."""

    code = 124


class ComponentIsNotRunning(Fail):
    """The answer "no" of a status command."""


class ClientComponentHasNoStatus(Fail):
    """A component that only installs something neither runs nor does not: as init scripts say it,
    nobody can tell."""

    code = 4

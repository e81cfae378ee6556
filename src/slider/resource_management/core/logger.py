"""Lines in the task's output, with the time and the level."""

import sys
import time

_LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "WARN": 30, "ERROR": 40, "CRITICAL": 50}


class Logger:
    """As in `Logger.info("text")`; the level is that of the command line."""

    level = _LEVELS["INFO"]

    @classmethod
    def initialize_logger(cls, name=None, logging_level="INFO"):
        """Sets the least level that is printed."""
        del name
        cls.level = _LEVELS.get(str(logging_level).upper(), _LEVELS["INFO"])

    @classmethod
    def _say(cls, level, text):
        if _LEVELS[level] >= cls.level:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            print("%s %s %s" % (stamp, level, text), file=sys.stdout, flush=True)

    @classmethod
    def debug(cls, text):
        """Only where the log is to be long."""
        cls._say("DEBUG", text)

    @classmethod
    def info(cls, text):
        """What happens."""
        cls._say("INFO", text)

    @classmethod
    def warning(cls, text):
        """What is odd, and gone on after."""
        cls._say("WARNING", text)

    @classmethod
    def error(cls, text):
        """What failed."""
        cls._say("ERROR", text)

    exception = error

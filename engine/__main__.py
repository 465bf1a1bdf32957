"""The command line's entry: `python -m engine`, or `mallocmuzero` where it is installed."""

import os
import signal
import sys

_INTERRUPTED = 130


def main() -> int:
    """Run the command of the process's arguments; returns the exit code.

    The imports take seconds. Interrupted then, the process ends at once: a library that is half
    imported may not survive an exception.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # not ignored, as under nohup
        signal.signal(signal.SIGINT, _end)
    from engine.cli import main as run

    signal.signal(signal.SIGINT, usual)
    return run()


def _end(*_: object) -> None:
    os.write(sys.stderr.fileno(), b"interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m o2nc`` and the command ``o2nc``."""

import io
import sys


def main() -> int:
    """Run the command line, or what there is of it without its extra; returns the exit code (`o2nc.lab.cli.codes`)."""
    try:
        from .lab.cli import app
        from .lab.cli.codes import ended
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "o2nc":
            raise
        from .lab import basics

        return basics.main(sys.argv[1:], missing=error.name)
    except KeyboardInterrupt:
        return 130  # as `Code.INTERRUPTED`
    if isinstance(sys.stdout, io.TextIOWrapper):  # the name of a folder may be no text
        sys.stdout.reconfigure(errors="backslashreplace")
    return ended(lambda: app(prog_name="o2nc"))


if __name__ == "__main__":
    sys.exit(main())

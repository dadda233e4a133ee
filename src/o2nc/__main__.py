"""``python -m o2nc`` and the command ``o2nc``."""

import io
import sys


def main() -> int:
    """Run the command line, or say in a sentence what it needs; returns the exit code (`o2nc.cli.codes`)."""
    try:
        from .cli import app
        from .cli.codes import ended
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == "o2nc":
            raise
        print(
            f"The command line of o2nc needs the package {error.name!r}: pip install 'o2nc[experiments]'.",
            file=sys.stderr,
        )
        return 3  # as `Code.FAILED`
    except KeyboardInterrupt:
        return 130  # as `Code.INTERRUPTED`
    if isinstance(sys.stdout, io.TextIOWrapper):  # the name of a folder may be no text
        sys.stdout.reconfigure(errors="backslashreplace")
    return ended(lambda: app(prog_name="o2nc"))


if __name__ == "__main__":
    sys.exit(main())

"""``python -m o2nc`` and the command ``o2nc``."""

import sys


def main() -> int:
    """Run the command line, or say in a sentence what it needs."""
    try:
        from .cli import app
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == "o2nc":
            raise
        print(
            f"The command line of o2nc needs the package {error.name!r}: pip install 'o2nc[experiments]'.",
            file=sys.stderr,
        )
        return 2
    app(prog_name="o2nc")
    return 0


if __name__ == "__main__":
    sys.exit(main())

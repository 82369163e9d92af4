"""`python -m vidsum`, and where the program `vidsum` starts."""

import sys


def main() -> None:
    """Load the program and run it; Ctrl-C ends it in one line while it loads, too."""
    try:
        from vidsum.commands.app import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

"""``python -m deep_research``: the command line."""

from deep_research.interfaces.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())

"""``python -m perfmodel`` is the command ``perfmodel``."""

from perfmodel.cli import main

if __name__ == "__main__":
    raise SystemExit(main())

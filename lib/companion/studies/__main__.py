"""``python -m companion.studies``, see ``companion.studies._commands``."""

import sys

from companion.studies._commands import main

if __name__ == "__main__":
    sys.exit(main())

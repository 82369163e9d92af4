"""Run a command whose queries are colours, in a process of its own.

python -m tests.commands.coloured ARGUMENTS...
"""

import pytest

from tests.grounding.colours import use_colours
from vidsum.__main__ import main

if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        use_colours(patch)
        main()

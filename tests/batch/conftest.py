"""The program in this process, as the tests of commands have it."""

from tests.commands.conftest import film as film
from tests.commands.conftest import loads as loads
from tests.commands.conftest import made_film as made_film
from tests.commands.conftest import own_home as own_home
from tests.commands.conftest import run as run

"""`python -m vidsum`."""

from vidsum.commands.app import main

main()

"""python -m regard: the command, where its script is not on the path."""

from regard.cli import main

main()

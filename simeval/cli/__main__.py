"""Run the command line: `python -m simeval.cli`."""

from simeval.cli.main import main

main()

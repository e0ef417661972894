"""Run the command line: `python -m simeval`."""

from simeval.cli.main import main

if __name__ == "__main__":
    main(prog_name="simeval")

"""The command line."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}  # of every command

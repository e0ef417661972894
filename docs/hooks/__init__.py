"""What the site makes of the program while it is built."""

"""The formats logs are read from: a module for each."""

"""Scenarios proposed from descriptions, documents and logs, for a person to edit."""

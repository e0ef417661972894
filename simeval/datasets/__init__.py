"""Datasets: examples with inputs, references and metadata, from files, frames and logs."""

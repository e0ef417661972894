"""Scorers over text classifiers: sentiment, toxicity, bias."""

"""The actors of a run: schedule, simulator, app, judge, statistician, recorder."""

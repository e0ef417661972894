"""The mathematics of verdicts: functions on numbers and arrays that know no word of simeval."""

"""Features that attach from outside: a room each, which the rest of simeval never imports, tables apart."""

# file: lib/core/breaker.c
# Failures are not counted.
s/S\(TRIP\), S\(OPEN\)/S(TRIP), S(CLOSED)/

"""The collector over HTTP."""

"""A Spark session for tests and benchmarks: on pysail, which needs no Java, or on the cluster of `make test-spark`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MASTER = "SOTTOVOCE_SPARK_MASTER"
SETTINGS = {
    "spark.executor.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def spark_session() -> Iterator[Any]:
    """The session of the cluster that SOTTOVOCE_SPARK_MASTER names, classic or through Spark Connect as SPARK_API_MODE
    says; else one of a pysail of its own."""
    # Before the session, so that classic Spark starts the interpreter that has this package.
    import sottovoce.engines.spark  # noqa: F401

    # A worker of pytest-xdist has no main file, and then the client believes that it runs its own doctests.
    if not hasattr(sys.modules["__main__"], "__file__"):
        sys.modules["__main__"].__file__ = __file__
    from pyspark.sql import SparkSession

    if MASTER in os.environ:
        builder: Any = SparkSession.builder.master(os.environ[MASTER]).appName("sottovoce")
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        session: Any = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
        return
    os.environ.setdefault("RUST_LOG", "error")
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        server.stop()

"""A Spark session: on pysail, which needs no Java, or on the cluster that `make test-spark` starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

MASTER = "SOTTOVOCE_SPARK_MASTER"
collect_ignore = [] if MASTER in os.environ else ["test_real_spark.py"]  # needs the cluster of `make test-spark`


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    # Before the session, so that classic Spark starts the interpreter that has this package.
    import sottovoce.engines.spark  # noqa: F401

    if MASTER in os.environ:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(os.environ[MASTER]).appName("sottovoce")
        session = (
            builder.config("spark.executor.memory", "1g").config("spark.sql.shuffle.partitions", "4").getOrCreate()
        )
        yield session
        session.stop()
        return
    os.environ.setdefault("RUST_LOG", "error")
    # A worker of pytest-xdist has no main file, and then the client believes that it runs its own doctests.
    if not hasattr(sys.modules["__main__"], "__file__"):
        sys.modules["__main__"].__file__ = __file__
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
    yield session
    session.stop()
    server.stop()

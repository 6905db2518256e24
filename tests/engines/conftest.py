"""A Spark session: on pysail, which needs no Java, or on the cluster that `make test-spark` starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.spark_session import MASTER, spark_session

collect_ignore = [] if MASTER in os.environ else ["test_real_spark.py"]  # needs the cluster of `make test-spark`


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session

"""``python -m scripts.spark_cluster [OPTIONS OF PYTEST]``: starts a Spark master and two workers, runs the tests of
the engine on them, in classic Spark and through Spark Connect, measures the cost of a partition, and stops them.

Tests find the master in SOTTOVOCE_SPARK_MASTER and the process numbers of the workers in SOTTOVOCE_SPARK_WORKERS, so
that one of them can be killed by its own number. SOTTOVOCE_SPARK_MODES=classic leaves the other way out.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

HOST = "127.0.0.1"
WORKERS = 2
TESTS = [f"tests/engines/{name}.py" for name in ("test_spark", "test_real_spark", "test_a_million")]
MODES = "classic,connect"
PATIENCE = 180.0  # seconds until the master listens


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


@contextmanager
def running(role: str, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the cluster, until the end of the block; its log is in the folder."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "SPARK_WORKER_DIR": str(folder)}
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--host", HOST, *arguments]
    with (folder / f"{role}-{time.monotonic_ns()}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.2)
    raise SystemExit("Spark's master does not listen.")


def main(arguments: list[str]) -> int:
    print(*(f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "pandas", "numpy")), sep=", ", flush=True)
    with tempfile.TemporaryDirectory(prefix="sottovoce-spark-") as text, ExitStack() as stack:
        folder, port = Path(text), free_port()
        stack.enter_context(running("master.Master", folder, "--port", str(port), "--webui-port", "0"))
        wait_for(port)
        master = f"spark://{HOST}:{port}"
        options = ("--cores", "1", "--memory", "2g", "--webui-port", "0", master)
        workers = [stack.enter_context(running("worker.Worker", folder, *options)) for _ in range(WORKERS)]
        environment = {
            **os.environ,
            "SOTTOVOCE_SPARK_MASTER": master,
            "SOTTOVOCE_SPARK_WORKERS": ",".join(str(worker.pid) for worker in workers),
            "SPARK_LOCAL_IP": HOST,
        }
        code = 0
        for mode in os.environ.get("SOTTOVOCE_SPARK_MODES", MODES).split(","):
            print(f"--- Spark, {mode}", flush=True)
            for command in (["-m", "pytest", "-q", "-n", "0", *TESTS, *arguments], ["-m", "benchmarks.partitions"]):
                done = subprocess.run([sys.executable, *command], env={**environment, "SPARK_API_MODE": mode})
                code = code or done.returncode
        return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the processes of the cluster end with this one
    raise SystemExit(main(sys.argv[1:]))
